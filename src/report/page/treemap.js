// Rectangles whose areas are bytes. A node: {label, short, note, bytes, children}, children made when they are asked for.
// A click goes in; the way back is the line above.

const MOST = 800;
const GROUND = 5;
const LINE = 15;

// A name that may break behind what joins its words.
function breaking(text) {
  return text.split(/(?<=[_:,<])/).flatMap((part) => [part, make("wbr")]);
}

// Squarified: rows of rectangles as square as may be (Bruls, Huizing, van Wijk).
function squarify(items, box) {
  const placed = [];
  let { x, y, width, height } = box;
  let left = sum(items.map((item) => item.bytes));
  let at = 0;
  while (at < items.length && left > 0 && width > 0 && height > 0) {
    const short = Math.min(width, height);
    const scale = (width * height) / left;
    let row = [], area = 0, worst = Infinity;
    while (at + row.length < items.length) {
      const own = items[at + row.length].bytes * scale;
      const all = area + own;
      const [big, small] = [Math.max(items[at].bytes * scale, own), own];
      const ratio = Math.max((short * short * big) / (all * all), (all * all) / (short * short * small));
      if (row.length && ratio > worst) break;
      row.push(own);
      [area, worst] = [all, ratio];
    }
    const thick = area / short;
    let along = 0;
    for (const own of row) {
      const long = own / thick;
      placed.push(width >= height
        ? { x, y: y + along, width: thick, height: long, item: items[at] }
        : { x: x + along, y, width: long, height: thick, item: items[at] });
      along += long;
      left -= items[at].bytes;
      at += 1;
    }
    if (width >= height) [x, width] = [x + thick, width - thick];
    else [y, height] = [y + thick, height - thick];
  }
  return placed;
}

function treemap(root, leaf) {
  const field = make("div", { class: "map", role: "list", "aria-label": "bytes" });
  const way = make("nav", { class: "way", "aria-label": "where the map is" });
  // The nodes from the whole to the one shown, and the place and label of each in the one before.
  let path = [root], steps = [];
  let active = 0;

  const kids = (node) => {
    if (!node.sorted) {
      const all = (node.children ? node.children() : []).filter((one) => one.bytes > 0);
      all.sort((one, other) => other.bytes - one.bytes || (one.label < other.label ? -1 : one.label > other.label ? 1 : 0));
      // Of very many the smaller ones are together, a hundred or more in each rectangle.
      const rest = all.length > MOST ? all.splice(MOST / 2) : [];
      const each = Math.max(100, Math.ceil(rest.length / (MOST / 2)));
      for (let at = 0; at < rest.length; at += each) {
        const some = rest.slice(at, at + each);
        const [most, least] = [some[0].bytes, some[some.length - 1].bytes];
        all.push({
          label: number(some.length) + " smaller ones", plain: true, bytes: sum(some.map((one) => one.bytes)),
          note: most === least ? `of ${bytes(most)} each` : `of ${bytes(least)} to ${bytes(most)} each`, children: () => some,
        });
      }
      // They stay behind the large ones, however much they come to.
      node.sorted = all;
    }
    return node.sorted;
  };

  const here = () => path[path.length - 1];

  // The browser's ways back and forward lead out of nodes and into them, and a page that is read again shows the same one.
  window.addEventListener("popstate", (event) => {
    const left = steps;
    follow(event.state);
    active = left.length > steps.length ? left[steps.length][0] : 0;
    draw();
    focus();
  });

  function follow(state) {
    path = [root];
    steps = [];
    for (const [at, label] of (state && state.map) || []) {
      const all = kids(here());
      const node = all[at] && all[at].label === label ? all[at] : all.find((one) => one.label === label);
      if (!node || !into(node)) return;
    }
  }

  // Whether there is something in a node, which is shown then.
  function into(node) {
    const inner = choices(node);
    if (!inner.children || !kids(inner).length) return false;
    steps.push([kids(here()).indexOf(node), node.label]);
    path.push(inner === node ? node : { ...inner, label: node.label });
    return true;
  }

  function moved() {
    history.pushState({ map: steps }, "");
    draw();
    focus();
  }

  function back(to) {
    active = steps[to][0];
    path.length = to + 1;
    steps.length = to;
    moved();
  }

  // A node with one child in the same place shows nothing new.
  function choices(node) {
    let inner = node;
    while (inner.children && kids(inner).length === 1 && kids(inner)[0].children) inner = kids(inner)[0];
    return inner;
  }

  function enter(node) {
    if (into(node)) {
      active = 0;
      moved();
    } else if (leaf) leaf(node);
  }

  function draw() {
    way.replaceChildren(...path.map((node, at) => {
      const text = fit(node.label, 70);
      const last = at === path.length - 1;
      return make("span", {}, at ? " › " : "", last
        ? make("strong", { "aria-current": "location" }, text)
        : make("button", { type: "button", onclick: () => back(at) }, text));
    }), make("span", { class: "sum" }, "  " + bytes(here().bytes)));
    const box = { x: 0, y: 0, width: field.clientWidth, height: field.clientHeight };
    const all = kids(here());
    const nodes = squarify(all, box).map((place, at) => {
      const { item, x, y, width, height } = place;
      const node = make("div", {
        class: "node tone" + (item.plain ? "-plain" : at % GROUND), role: "listitem", tabindex: at === active ? "0" : "-1", "data-at": at,
        "aria-label": `${item.label}: ${number(item.bytes)} bytes${item.note ? ", " + item.note : ""}`,
        style: `left:${x}px;top:${y}px;width:${Math.max(width - 1, 1)}px;height:${Math.max(height - 1, 1)}px`,
      });
      const seen = width > 110 && height > 90 && inside(node, item, width, height);
      if (width > 34 && height > 18) {
        const label = item.short || item.label;
        const rows = seen ? 1 : Math.max(1, Math.floor((height - 4) / LINE) - (height > 34 ? 1 : 0));
        node.classList.toggle("lines", rows > 1);
        node.append(make("span", { class: "name", style: `max-height:${rows * LINE}px` },
          rows > 1 ? breaking(label) : fit(label, Math.floor((width - 8) / 6.4))));
        if (height > 34 && width > 54) node.append(make("span", { class: "size" }, bytes(item.bytes)));
      }
      return node;
    });
    field.replaceChildren(...nodes);
  }

  // What is in a node, where there is room, to be seen and not to be read.
  function inside(node, item, width, height) {
    const inner = choices(item);
    if (!inner.children || kids(inner).length < 2) return false;
    const all = kids(inner).slice(0, 60);
    for (const place of squarify(all, { x: 3, y: 34, width: width - 8, height: height - 39 })) {
      const style = `left:${place.x}px;top:${place.y}px;width:${Math.max(place.width - 1, 1)}px;height:${Math.max(place.height - 1, 1)}px`;
      node.append(make("i", { style, "aria-hidden": "true" }));
    }
    return true;
  }

  function focus() {
    const own = field.children[active];
    if (own) own.focus({ preventScroll: true });
  }

  field.addEventListener("click", (event) => {
    const node = event.target.closest(".node");
    if (node) enter(kids(here())[Number(node.dataset.at)]);
  });
  field.addEventListener("keydown", (event) => {
    const count = kids(here()).length;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -count, End: count }[event.key];
    if (step !== undefined) {
      field.children[active]?.setAttribute("tabindex", "-1");
      active = Math.min(count - 1, Math.max(0, active + step));
      field.children[active]?.setAttribute("tabindex", "0");
      focus();
    } else if (event.key === "Enter" || event.key === " ") enter(kids(here())[active]);
    else if ((event.key === "Backspace" || event.key === "Escape") && path.length > 1) back(path.length - 2);
    else return;
    event.preventDefault();
  });
  tips(field, ".node", (element) => {
    const item = kids(here())[Number(element.dataset.at)];
    if (!item) return null;
    return [
      make("b", {}, item.label),
      make("p", {}, `${number(item.bytes)} bytes (${bytes(item.bytes)}), ${share(item.bytes, here().bytes)} of ${fit(here().label, 60)}`),
      item.note ? make("p", {}, item.note) : null,
    ];
  });
  new ResizeObserver(() => draw()).observe(field);
  follow(history.state);
  return { element: make("div", {}, way, field), replace: (node) => { root = node; follow({ map: steps }); active = 0; draw(); } };
}
