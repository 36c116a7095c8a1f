// The page of two builds: targets, requirements, templates and kernels.

const { files, texts, kernels } = data;
const several = files.length > 1;

if (data.breaches.length) {
  main.append(section("breaches", data.breaches.length === 1 ? "A budget is not kept" : `${number(data.breaches.length)} budgets are not kept`, null,
    make("ul", {}, data.breaches.map((text) => make("li", {}, text)))));
}

const targets = new Map();
for (const file of files) {
  for (const [name, counts, sizes] of file.targets) {
    const own = targets.get(name) || [[0, 0], [0, 0]];
    targets.set(name, own.map((pair, at) => pair.map((value, side) => value + (at ? sizes : counts)[side])));
  }
}
main.append(section("targets", "Targets", "all images for each, before and after",
  plain(["Target", "Images before", "after", "Bytes before", "after", "Growth"], [...targets].sort((one, other) => (one[0] < other[0] ? -1 : 1))
    .map(([name, [counts, sizes]]) => [name, ...counts.map(number), ...sizes.map(bytes), signed(sizes[1] - sizes[0])]))));

if (data.requirements.length) {
  main.append(section("requirements", "Requirements", "what kernels need of a device that they did not, or need no more",
    plain(["Requirement", "Gained by kernels", "Lost by kernels"], data.requirements.map(([name, gained, lost]) => [name, number(gained), number(lost)]))));
}
if (data.images.length) {
  main.append(section("images", "Images", "what their property sets say otherwise, and those without kernels",
    plain(["What changed"], data.images.map((line) => [line]))));
}

const rows = [...kernels.name.keys()];
const growth = (row) => kernels.new[row] - kernels.old[row];

// By how much each template grew, as bars to either side.
const byFamily = new Map();
for (const row of rows) {
  const family = familyOf[kernels.name[row]];
  const own = byFamily.get(family) || { family, kernels: 0, old: 0, new: 0 };
  own.kernels += 1;
  own.old += kernels.old[row];
  own.new += kernels.new[row];
  byFamily.set(family, own);
}
const templates = [...byFamily.values()];
const most = Math.max(1, ...templates.map((one) => Math.abs(one.new - one.old)));
if (templates.length) {
  const table = grid({
    id: "template-grid", label: "templates", all: templates,
    columns: [
      { title: "Before", width: 96, kind: "number", value: (one) => one.old, show: (one) => bytes(one.old) },
      { title: "After", width: 96, kind: "number", value: (one) => one.new, show: (one) => bytes(one.new) },
      { title: "Growth", width: 100, kind: "number", value: (one) => one.new - one.old, show: (one) => signed(one.new - one.old) },
      {
        title: "Shrunk or grown", width: 150, fixed: true, value: () => 0, kind: "bar",
        show: (one) => {
          const part = ((one.new - one.old) / most) * 50;
          const style = part < 0 ? `left:${50 + part}%;width:${-part}%` : `left:50%;width:${part}%`;
          return make("span", { class: part < 0 ? "shrunk" : "grown", style });
        },
      },
      { title: "Kernels", width: 84, kind: "number", value: (one) => one.kernels },
      { title: "Template", value: (one) => families[one.family], show: (one, letters) => fitEnd(families[one.family], letters) },
    ],
  });
  main.append(section("templates", "Templates", "kernels that are not as they were, by their template", make("div", { class: "tools" }, table.count), table.element));
  table.show(templates);
  table.order("Growth", true);
}

const FATES = [["added", "+ added"], ["removed", "- removed"], ["renamed", "→ renamed"], ["changed", "~ changed"]];
const words_of = Object.fromEntries(FATES);
const changes = (row) => kernels.changes[row].map((text) => texts[text]).join("; ");
const detail = make("div", { class: "detail", "aria-live": "polite" });
function tell(row) {
  const terms = [
    ["Kernel", names[kernels.name[row]]], ["Mangled", mangled[kernels.name[row]]],
    kernels.from[row] === null ? null : ["Was", names[kernels.from[row]]], ["File", files[kernels.file[row]].name],
    ["Bytes", `${number(kernels.old[row])} before, ${number(kernels.new[row])} after (${signed(growth(row))})`],
    ...kernels.changes[row].map((text, at) => [at ? "" : "Changes", texts[text]]),
  ];
  detail.replaceChildren(make("dl", {}, terms.filter((one) => one).flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)])));
  detail.scrollIntoView({ block: "nearest" });
}
const table = grid({
  id: "kernel-grid", label: "kernels", all: rows, pick: tell,
  columns: [{ title: "Kernel", value: (row) => kernels.name[row], show: (row, letters) => fitName(kernels.name[row], letters) }].concat(
    several ? [{ title: "File", width: 180, value: (row) => files[kernels.file[row]].name, show: (row, letters) => fit(baseName(files[kernels.file[row]].name), letters) }] : [], [
      { title: "Fate", width: 104, value: (row) => kernels.fate[row], show: (row) => words_of[kernels.fate[row]], class: (row) => "fate-" + kernels.fate[row] },
      { title: "Before", width: 92, kind: "number", value: (row) => kernels.old[row], show: (row) => bytes(kernels.old[row]) },
      { title: "After", width: 92, kind: "number", value: (row) => kernels.new[row], show: (row) => bytes(kernels.new[row]) },
      { title: "Growth", width: 96, kind: "number", value: growth, show: (row) => signed(growth(row)) },
      { title: "What changed", width: 260, value: changes, show: (row, letters) => { const all = changes(row); return all.length > letters ? all.slice(0, letters - 1) + "…" : all; } },
    ]),
});
tips(table.element, "td", (cell) => {
  const row = rowAt(table, cell);
  if (row === undefined) return null;
  return [make("b", {}, names[kernels.name[row]]), kernels.from[row] === null ? null : make("p", {}, "was " + names[kernels.from[row]]),
    kernels.changes[row].map((text) => make("p", {}, texts[text]))];
});
const lower = rows.map((row) => [names[kernels.name[row]], mangled[kernels.name[row]], kernels.fate[row], changes(row), files[kernels.file[row]].name].join("\n").toLowerCase());
let filter = [], fate = "all";
const refresh = () => table.show(rows.filter((row) => (fate === "all" || kernels.fate[row] === fate) && has(lower[row], filter)));
const there = FATES.filter(([name]) => kernels.fate.includes(name));
main.append(section("table", "Kernels", rows.length ? "that are not as they were; a row tells more when it is chosen; a title sorts" : "all are as they were",
  rows.length ? [make("div", { class: "tools" }, search("Filter by name, requirement, change", (text) => { filter = words(text); refresh(); }),
    choice("which kernels", [["all", "all"], ...there], "all", (value) => { fate = value; refresh(); }), table.count), table.element, detail] : []));
if (rows.length) {
  refresh();
  table.order("Growth", true);
}
