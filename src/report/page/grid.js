// A table of thousands of rows, of which those in sight are in the document. Rows are of one height. Cells or rows are
// reached by arrow keys: one has the focus, and only that one is a tab stop.

const ROW = 28;
const SPARE = 8;

// columns: [{title, kind: "text" | "number", width, value(row), show(row, letters), sort(row), head}]. What is shown last takes
// the room that is left. `all` are the rows, whatever they are; `cells` has the arrows move between cells.
function grid({ id, label, columns, all, cells, pick, rowClass }) {
  // On a narrow window names come first, as the rest is scrolled to.
  if (NARROW && !columns[columns.length - 1].width) columns = [columns[columns.length - 1], ...columns.slice(0, -1)];
  const state = { rows: all, sort: null, down: false, at: [0, 0], first: -1, last: -1, chosen: null };
  const open = NARROW && cells ? 150 : 260;
  const ends = columns.some((column) => !column.width);
  const head = make("tr", { role: "row", "aria-rowindex": "1" });
  const body = make("tbody", {});
  const table = make("table", { role: "grid", "aria-label": label, id },
    make("colgroup", {}, columns.map((one) => make("col", one.width ? { style: `width:${one.width}px` } : {}))),
    make("thead", {}, head), body);
  const least = sum(columns.map((one) => one.width || open));
  table.style.minWidth = least + "px";
  if (!ends) table.style.width = least + "px";
  const port = make("div", { class: "port", tabindex: "-1" }, table);
  const none = make("p", { class: "none", hidden: true }, "nothing matches");
  const count = make("span", { class: "count", role: "status" });

  columns.forEach((column, at) => {
    const title = column.head ? column.head() : column.title;
    const inner = column.fixed
      ? make("span", { class: "label" }, title)
      : make("button", { type: "button", onclick: () => order(at) }, title);
    head.append(make("th", {
      scope: "col", class: (column.kind || "text") + (at === 0 ? " first" : ""), "data-column": at,
      "aria-sort": column.fixed ? null : "none", tabindex: column.focus ? "0" : null,
    }, inner));
  });

  // Sorts by a column, by its place or title.
  function order(which, down) {
    const at = typeof which === "string" ? columns.findIndex((one) => one.title === which) : which;
    const own = columns[at];
    const kind = own.kind === "number";
    state.down = down === undefined ? (state.sort === at ? !state.down : kind) : down;
    state.sort = at;
    [...head.children].forEach((cell, place) => {
      if (!columns[place].fixed) {
        cell.setAttribute("aria-sort", place !== at ? "none" : state.down ? "descending" : "ascending");
      }
    });
    arrange();
  }

  function choose() {
    if (!pick) return;
    state.chosen = state.rows[state.at[0]];
    pick(state.chosen);
    if (!rowClass) draw(true);
  }

  function arrange() {
    if (state.sort !== null) {
      const value = columns[state.sort].sort || columns[state.sort].value;
      const turn = state.down ? -1 : 1;
      const keyed = state.rows.map((row, at) => [value(row), at, row]);
      keyed.sort((one, other) => (one[0] < other[0] ? -turn : one[0] > other[0] ? turn : one[1] - other[1]));
      state.rows = keyed.map((one) => one[2]);
    }
    draw(true);
  }

  // Shows these rows.
  function show(rows, words) {
    state.rows = rows;
    state.at = [0, state.at[1]];
    port.scrollTop = 0;
    count.textContent = words || counted(rows.length, "row") + (rows.length < all.length ? " of " + number(all.length) : "");
    arrange();
  }

  function letters() {
    const wide = Math.max(port.clientWidth, least) - sum(columns.map((one) => one.width || 0)) - 20;
    return Math.max(12, Math.floor(wide / (columns.filter((one) => !one.width).length || 1) / 7.3));
  }

  function line(at) {
    const row = state.rows[at];
    const room = letters();
    const element = make("tr", {
      role: "row", "aria-rowindex": at + 2, "data-at": at, class: rowClass ? rowClass(row) : row === state.chosen ? "chosen" : null,
      tabindex: !cells && at === state.at[0] ? "0" : cells ? null : "-1",
    });
    columns.forEach((column, place) => {
      const content = column.show ? column.show(row, column.width ? Math.floor((column.width - 18) / 7.3) : room) : column.value(row);
      const own = column.class ? column.class(row) : "";
      element.append(make("td", {
        role: "gridcell", class: ((column.kind || "text") + " " + own + (place === 0 ? " first" : "")).trim(), "data-column": place,
        tabindex: cells ? (at === state.at[0] && place === state.at[1] ? "0" : "-1") : null,
      }, content));
    });
    return element;
  }

  function draw(anew) {
    const height = port.clientHeight || 400;
    const first = Math.max(0, Math.floor(port.scrollTop / ROW) - SPARE);
    const last = Math.min(state.rows.length, Math.ceil((port.scrollTop + height) / ROW) + SPARE);
    if (!anew && first === state.first && last === state.last) return;
    const focused = body.contains(document.activeElement);
    [state.first, state.last] = [first, last];
    const space = (rows) => make("tr", { class: "space", "aria-hidden": "true", style: `height:${rows * ROW}px` });
    const lines = [];
    for (let at = first; at < last; at++) lines.push(line(at));
    body.replaceChildren(space(first), ...lines, space(state.rows.length - last));
    table.setAttribute("aria-rowcount", state.rows.length + 1);
    none.hidden = state.rows.length > 0;
    if (focused) focus(false);
  }

  function element() {
    const row = body.querySelector(`tr[data-at="${state.at[0]}"]`);
    return row && cells ? row.children[state.at[1]] : row;
  }

  // Has the row, or the cell, be in sight and have the focus.
  function focus(scroll) {
    if (scroll !== false) {
      const top = state.at[0] * ROW;
      const room = port.clientHeight - head.offsetHeight;
      if (top < port.scrollTop) port.scrollTop = top;
      else if (top + ROW > port.scrollTop + room) port.scrollTop = top + ROW - room;
      draw(true);
    }
    const own = element();
    if (own) own.focus({ preventScroll: scroll === false });
  }

  port.addEventListener("keydown", (event) => {
    if (!body.contains(event.target)) return;
    const page = Math.max(1, Math.floor(port.clientHeight / ROW) - 2);
    const down = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    const right = cells ? { ArrowRight: 1, ArrowLeft: -1 }[event.key] : undefined;
    if (down !== undefined) {
      state.at[0] = Math.min(state.rows.length - 1, Math.max(0, state.at[0] + down));
    } else if (right !== undefined) {
      state.at[1] = Math.min(columns.length - 1, Math.max(0, state.at[1] + right));
    } else if (event.key === "Enter" || event.key === " ") {
      choose();
    } else return;
    event.preventDefault();
    if (down !== undefined || right !== undefined) focus(true);
  });
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-at]");
    if (!row) return;
    const cell = event.target.closest("td");
    state.at = [Number(row.dataset.at), cell ? Number(cell.dataset.column) : 0];
    // Where cells are of their own, the first chooses the row, and the others tell why.
    if (!cells || state.at[1] === 0) choose();
  });
  body.addEventListener("focusin", (event) => {
    const row = event.target.closest("tr[data-at]");
    if (!row) return;
    const cell = event.target.closest("td");
    state.at = [Number(row.dataset.at), cell ? Number(cell.dataset.column) : state.at[1]];
  });
  let waiting = false;
  port.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw(false);
    });
  });
  new ResizeObserver(() => draw(true)).observe(port);

  return { element: make("div", { class: "grid" }, port, none), count, show, order, rowOf: (at) => state.rows[at], rows: () => state.rows };
}

// The row that an element within a grid stands for.
function rowAt(own, element) {
  return own.rowOf(Number(element.closest("tr").dataset.at));
}
