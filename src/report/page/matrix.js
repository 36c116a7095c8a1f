// Kernels by targets. Kernels of a template share a row that opens; a cell says whether they run, on hover and focus why not.

const VERDICTS = [["✓", "runs", "runs"], ["?", "unknown", "unknown"], ["✗", "cannot run", "cannot"], ["~", "excused", "excused"],
  ["·", "not asked about", "unasked"]];
// What is told of several kernels: the worst.
const WORST = [2, 1, 3, 0, 4];

function matrix(own, files) {
  const several = files.length > 1;
  const there = VERDICTS.map((_, verdict) => own.cells.some((cell) => cell[0] === verdict));
  const cellOf = (row, target) => own.cells[own.classes[own.class[row]][target]];
  const whys = new Map();
  for (const [row, aspect, text] of own.why) {
    if (!whys.has(row)) whys.set(row, []);
    whys.get(row).push([own.texts[aspect], own.texts[text]]);
  }
  const lower = own.name.map((name) => names[name].toLowerCase());

  // Rows of one template, in the order of names.
  const groups = new Map();
  own.name.forEach((name, row) => {
    const family = familyOf[name];
    if (!groups.has(family)) groups.set(family, []);
    groups.get(family).push(row);
  });
  const order = [...groups.keys()].sort((one, other) => (families[one] < families[other] ? -1 : families[one] > families[other] ? 1 : 0));
  for (const rows of groups.values()) {
    rows.sort((one, other) => own.name[one] - own.name[other] || own.file[one] - own.file[other]);
  }
  const open = new Set(own.name.length <= 60 ? order : []);
  let filter = [], only = "all";

  const wanted = (row) => {
    if (only !== "all" && !own.targets.some((_, target) => cellOf(row, target)[0] === Number(only))) return false;
    return has(lower[row], filter);
  };

  // How many of some kernels are of each verdict on a target.
  function tally(rows, target) {
    const counts = VERDICTS.map(() => 0);
    for (const row of rows) counts[cellOf(row, target)[0]] += 1;
    return counts;
  }

  function lines() {
    const all = [];
    let kernels = 0;
    for (const family of order) {
      const rows = groups.get(family).filter(wanted);
      if (!rows.length) continue;
      kernels += rows.length;
      if (rows.length === 1) {
        all.push({ row: rows[0], alone: true });
        continue;
      }
      all.push({ family, rows, open: open.has(family) });
      if (open.has(family)) rows.forEach((row) => all.push({ row }));
    }
    return [all, kernels];
  }

  // Several kernels in words: "9 run".
  const inWords = (one, verdict) => `${number(one)} ${verdict || one === 1 ? VERDICTS[verdict][1] : "run"}`;

  const worst = (counts) => WORST.find((verdict) => counts[verdict]);
  const totals = own.targets.map((_, target) => tally(own.name.keys(), target));

  const columns = [{
    title: "Kernel", fixed: true, value: () => "",
    show: (line, letters) => {
      if (line.family !== undefined) {
        const name = families[line.family];
        return [make("span", { class: "twist" }, line.open ? "▾ " : "▸ "),
          NARROW ? fit(name.split("::").pop() || name, letters - 4 - number(line.rows.length).length) : fitEnd(name, letters - 10),
          make("span", { class: "dim" }, "  " + number(line.rows.length))];
      }
      const name = names[own.name[line.row]];
      const place = several && !NARROW ? "  " + fit(baseName(files[own.file[line.row]].path), 22) : "";
      // Below its template a kernel is told by its arguments.
      const rest = line.alone ? "" : name.slice(families[familyOf[own.name[line.row]]].length);
      return [make("span", { class: line.alone ? "" : "within" }, rest
        ? "…" + fit(rest, letters - 6 - place.length) : fitName(own.name[line.row], letters - (line.alone ? 2 : 5) - place.length)),
        place ? make("span", { class: "dim" }, place) : null];
    },
  }].concat(own.targets.map((target, at) => ({
    title: target, fixed: true, focus: true, width: NARROW ? 66 : 96, kind: "verdict",
    head: () => {
      const cut = /^(intel_gpu_|nvidia_gpu_|amd_gpu_)/.exec(target);
      const [runs, unknown, cannot, excused, unasked] = totals[at];
      const lost = cannot ? `${number(cannot)} cannot` : unknown ? `${number(unknown)} unknown` : excused || unasked ? `${number(runs)} run` : "all run";
      return [make("span", { class: "dim" }, cut ? cut[0] : "\u00a0"), make("span", {}, cut ? target.slice(cut[0].length) : target),
        make("span", { class: "total" }, lost), there[3] ? make("span", { class: "total" }, excused ? `${number(excused)} excused` : "\u00a0") : null];
    },
    class: (line) => VERDICTS[line.family === undefined ? cellOf(line.row, at)[0] : worst(tally(line.rows, at))][2],
    value: () => "",
    show: (line) => {
      if (line.family === undefined) return VERDICTS[cellOf(line.row, at)[0]][0];
      const counts = tally(line.rows, at);
      const sign = VERDICTS[worst(counts)][0];
      const some = number(counts[worst(counts)]) + (NARROW ? "" : "/" + number(line.rows.length));
      return counts.filter((one) => one).length < 2 ? sign : `${sign} ${some}`;
    },
  })));

  const table = grid({
    id: "matrix-grid", label: "kernels by targets", columns, all: own.name, cells: true,
    rowClass: (line) => (line.family === undefined ? null : "family"),
    pick: (line) => {
      if (line.family === undefined) return;
      if (!open.delete(line.family)) open.add(line.family);
      refresh(true);
    },
  });

  function refresh(stay) {
    const port = table.element.querySelector(".port");
    const top = port.scrollTop;
    const [all, kernels] = lines();
    table.show(all, counted(kernels, "kernel") + (kernels < own.name.length ? " of " + number(own.name.length) : ""));
    if (stay) port.scrollTop = top;
  }

  function because(reasons, row) {
    return reasons.map((reason) => {
      const [certain, rule, message, remedy, aspect, excuse] = own.reasons[reason];
      const why = aspect === null || row === undefined ? null : (whys.get(row) || []).find((one) => one[0] === own.texts[aspect]);
      return make("div", { class: "reason" }, make("p", {}, `${message} (${rule}${certain ? "" : ", not sure"})`),
        why ? make("p", { class: "why" }, why[1]) : null,
        excuse === null ? make("p", { class: "help" }, "help: " + remedy) : make("p", { class: "excused" }, `${VERDICTS[3][0]} excused: ${own.texts[excuse]}`));
    });
  }

  // A verdict in words; what only a policy is against runs.
  function verdictOf([verdict, reasons]) {
    const [sign, word] = VERDICTS[verdict];
    const counting = reasons.map((reason) => own.reasons[reason]).filter(([certain, , , , , excuse]) => certain && excuse === null);
    return `${sign} ${verdict === 2 && counting.every((reason) => reason[6]) ? "against the policy" : word}`;
  }

  tips(table.element, "td", (cell) => {
    const line = rowAt(table, cell);
    const target = Number(cell.dataset.column) - 1;
    if (!line) return null;
    if (target < 0) {
      if (line.family !== undefined) return [make("b", {}, families[line.family]), make("p", {}, counted(line.rows.length, "kernel"))];
      return [make("b", {}, names[own.name[line.row]]), make("p", { class: "dim" }, mangled[own.name[line.row]]),
        several ? make("p", { class: "dim" }, files[own.file[line.row]].path) : null];
    }
    if (line.family !== undefined) {
      const counts = tally(line.rows, target);
      const said = counts.map((one, verdict) => (one ? inWords(one, verdict) : null)).filter((one) => one);
      const reasons = new Map();
      line.rows.forEach((row) => cellOf(row, target)[1].forEach((reason) => reasons.set(reason, (reasons.get(reason) || 0) + 1)));
      const most = [...reasons].sort((one, other) => other[1] - one[1] || one[0] - other[0]).slice(0, 4);
      return [make("b", {}, families[line.family]), make("p", {}, `${own.targets[target]}: ${said.join(", ")}`), because(most.map((one) => one[0]))];
    }
    const found = cellOf(line.row, target);
    return [make("b", {}, names[own.name[line.row]]), make("p", { class: VERDICTS[found[0]][2] }, `${verdictOf(found)} on ${own.targets[target]}`),
      because(found[1], line.row)];
  });
  tips(table.element, "th", (cell) => {
    const target = Number(cell.dataset.column) - 1;
    if (target < 0) return null;
    const said = totals[target].map((one, verdict) => (there[verdict] || verdict < 3 ? inWords(one, verdict) : null)).filter((one) => one);
    return [make("b", {}, own.targets[target]), make("p", {}, said.join(", "))];
  });

  const tools = make("div", { class: "tools" },
    search("Filter kernels of the matrix", (text) => { filter = words(text); refresh(); }),
    choice("which kernels", [["all", "all"], ["2", "✗ cannot run somewhere"], ["1", "? unknown somewhere"],
      ...[3, 4].filter((verdict) => there[verdict]).map((verdict) => [String(verdict), `${VERDICTS[verdict][0]} ${VERDICTS[verdict][1]} somewhere`])], "all",
      (value) => { only = value; refresh(); }),
    make("button", { type: "button", onclick: () => { if (open.size) open.clear(); else order.forEach((one) => open.add(one)); refresh(); } }, "open or close all"),
    table.count);
  refresh();

  // Where a kernel does not simply run: verdicts, each with the targets and why.
  let places = null;
  function tell(file, name) {
    places = places || new Map(own.name.map((one, row) => [own.file[row] + " " + one, row]));
    const row = places.get(file + " " + name);
    const targetsOf = new Map();
    if (row !== undefined) {
      own.classes[own.class[row]].forEach((cell, target) => targetsOf.set(cell, [...(targetsOf.get(cell) || []), own.targets[target]]));
    }
    return [...targetsOf].filter(([cell]) => own.cells[cell][0] !== 0).map(([cell, targets]) => {
      const said = own.cells[cell][1].map((reason) => {
        const [certain, rule, message, , , excuse] = own.reasons[reason];
        return `${message} (${rule}${certain ? "" : ", not sure"})` + (excuse === null ? "" : ` excused: ${own.texts[excuse]}`);
      });
      return [verdictOf(own.cells[cell]), [targets.join(", "), ...said].join("\n")];
    });
  }

  const legend = VERDICTS.map(([sign, word], verdict) => (there[verdict] || verdict < 3 ? `${sign} ${word}${verdict === 2 && data.policy ? ", or against the policy" : ""}` : null));
  return { element: [tools, table.element], tell, legend: legend.filter((one) => one).join(", ") };
}
