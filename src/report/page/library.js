// The page of files: the map, the matrix, and the table of kernels and of images.

const { files, texts, images, kernels, named } = data;
const several = files.length > 1;

const problems = files.flatMap((file) => file.problems.map((one) => [file.path, one]));
if (problems.length) {
  main.append(section("problems", counted(problems.length, "problem"), "what could not be read is not in what follows",
    make("ul", {}, problems.map(([path, text]) => make("li", {}, several ? path + ": " + text : text)))));
}

// How many kernels are of each code.
const codes = new Map();
for (const code of kernels.code) if (code !== null) codes.set(code, (codes.get(code) || 0) + 1);
function alike(row) {
  const others = (codes.get(kernels.code[row]) || 1) - 1;
  return others ? `, the same code as ${counted(others, "other kernel")}` : "";
}

// The bytes, by file, target, template, code and kernel.
function tree(of) {
  const own = kernels[of], whole = images[of];
  const group = (rows, key) => {
    const all = new Map();
    for (const row of rows) {
      const at = key(row);
      if (!all.has(at)) all.set(at, []);
      all.get(at).push(row);
    }
    return [...all];
  };
  const byImage = new Map(group(named.keys(), (row) => kernels.image[row]));
  // Within its template a kernel is told by its arguments, a template by what is behind its namespaces.
  const short = (name) => names[name].slice(families[familyOf[name]].length) || names[name];
  const kernel = (row) => ({ label: names[named[row]], short: short(named[row]), bytes: own[row], note: `image ${images.index[kernels.image[row]]}${alike(row)}`, kernel: row });
  const template = (family, rows) => ({
    label: families[family], short: families[family].split("::").pop() || families[family], bytes: sum(rows.map((row) => own[row])), note: counted(rows.length, "kernel"),
    children: () => group(rows, (row) => (kernels.code[row] === null ? -1 - row : kernels.code[row])).map(([, same]) => {
      if (same.length === 1) return kernel(same[0]);
      return {
        label: `${names[named[same[0]]]} and ${number(same.length - 1)} more`, short: `${same.length} × ${short(named[same[0]])}`, bytes: sum(same.map((row) => own[row])), note: `${number(same.length)} kernels that are the same code`,
        children: () => same.map(kernel),
      };
    }),
  });
  const target = (name, rows) => {
    const inner = rows.flatMap((image) => byImage.get(image) || []);
    const without = rows.filter((image) => !images.kernels[image]);
    return {
      label: name, bytes: sum(rows.map((image) => whole[image])), note: `${counted(rows.length, "image")}, ${counted(inner.length, "kernel")}`,
      children: () => group(inner, (row) => familyOf[named[row]]).map(([family, all]) => template(family, all)).concat(without.length ? [{
        label: "(images without kernels)", plain: true, bytes: sum(without.map((image) => whole[image])), note: counted(without.length, "image"),
        children: () => without.map((image) => ({ label: "image " + images.index[image], bytes: whole[image], image })),
      }] : []),
    };
  };
  const library = (file, rows) => ({
    label: baseName(files[file].path), bytes: sum(rows.map((image) => whole[image])),
    note: `${files[file].path}: ${counted(rows.length, "image")}, ${share(files[file].stored, files[file].bytes)} of the file`,
    children: () => group(rows, (image) => images.target[image]).map(([name, all]) => target(texts[name], all)),
  });
  const all = group(images.file.keys(), (image) => images.file[image]).map(([file, rows]) => library(file, rows));
  let root = all.length === 1 ? all[0] : { label: counted(all.length, "file"), bytes: sum(all.map((one) => one.bytes)), children: () => all };
  // Where there is one target there is nothing to choose.
  while (all.length === 1 && root.children) {
    const inner = root.children();
    if (inner.length !== 1 || inner[0].kernel !== undefined || !inner[0].children) break;
    root = { ...inner[0], label: root.label === inner[0].label ? root.label : root.label + ", " + inner[0].label };
  }
  return root;
}

const compressed = files.some((file) => file.stored !== file.size);
if (images.file.length) {
  const map = treemap(tree("stored"), (leaf) => reveal(leaf));
  main.append(section("bytes", "Bytes", "by library, target and kernel template; a click goes in, down to kernels that are the same code",
    make("div", { class: "tools" }, compressed
      ? choice("which bytes", [["stored", "as stored"], ["size", "inflated"]], "stored", (of) => map.replace(tree(of))) : null),
    map.element));
}
const { policy } = data;
if (policy && policy.findings.length + policy.exceptions.length) {
  main.append(section("policy", "Policy", policy.file + (policy.day ? ", its exceptions as of " + policy.day : ""), policyParts(policy)));
}
let verdicts = null;
if (data.matrix.targets.length && data.matrix.name.length) {
  verdicts = matrix(data.matrix, files);
  main.append(section("matrix", "Where kernels run", `what \`check\` finds for each target: ${verdicts.legend}; why is on hover, and by a tap`, verdicts.element));
}

// The table: of kernels, or of images.
const fileColumn = (file) => ({ title: "File", width: 180, value: (row) => baseName(files[file(row)].path), show: (row, letters) => fit(baseName(files[file(row)].path), letters) });
const common_columns = (image) => [
  { title: "Target", width: 150, value: (row) => texts[images.target[image(row)]], show: (row, letters) => fit(texts[images.target[image(row)]], letters) },
  { title: "State", width: 96, value: (row) => texts[images.state[image(row)]] },
  { title: "Format", width: 84, value: (row) => texts[images.format[image(row)]] },
  { title: "Requires", width: 150, value: (row) => texts[images.requires[image(row)]], show: (row, letters) => fit(texts[images.requires[image(row)]], letters) },
];
const sizes = (own, unit) => [{ title: "Stored", width: 92, kind: "number", value: (row) => own.stored[row], show: (row) => bytes(own.stored[row]) }]
  .concat(compressed ? [{ title: "Inflated", width: 92, kind: "number", value: (row) => own.size[row], show: (row) => bytes(own.size[row]) }] : []);
const imageOf = (row) => kernels.image[row];
const firstKernel = new Map();
named.forEach((name, row) => { if (!firstKernel.has(imageOf(row))) firstKernel.set(imageOf(row), row); });

const detail = make("div", { class: "detail", "aria-live": "polite" });
function fields(...pairs) {
  detail.replaceChildren(make("dl", {}, pairs.filter((one) => one && one[1] !== "").flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)])));
  detail.scrollIntoView({ block: "nearest" });
}
function tellImage(image) {
  return [
    ["File", files[images.file[image]].path], ["Image", String(images.index[image])], ["Target", texts[images.target[image]]],
    ["State", `${texts[images.state[image]]}, ${texts[images.format[image]]}`], ["Requires", texts[images.requires[image]]],
    ["Bytes", `${number(images.stored[image])} stored` + (images.size[image] === images.stored[image] ? "" : `, ${number(images.size[image])} inflated`)],
  ];
}
function tellKernel(row) {
  const name = named[row];
  const others = (codes.get(kernels.code[row]) || 1) - 1;
  fields(["Kernel", names[name]], mangled[name] === names[name] ? null : ["Mangled", mangled[name]], ...tellImage(imageOf(row)),
    others ? ["Same code", `as ${counted(others, "other kernel")}`] : null,
    ...(verdicts ? verdicts.tell(images.file[imageOf(row)], name) : []));
}

const kernelGrid = grid({
  id: "kernel-grid", label: "kernels", all: [...named.keys()], pick: tellKernel,
  columns: [{ title: "Kernel", class: () => "name", value: (row) => named[row], show: (row, letters) => fitName(named[row], letters) }].concat(
    several ? [fileColumn((row) => images.file[imageOf(row)])] : [], sizes(kernels), common_columns(imageOf),
    [{ title: "Image", width: 76, kind: "number", value: (row) => images.index[imageOf(row)] }]),
});
const imageGrid = grid({
  id: "image-grid", label: "images", all: [...images.file.keys()], pick: (image) => fields(...tellImage(image)),
  columns: [
    {
      title: "A kernel", value: (image) => (firstKernel.has(image) ? named[firstKernel.get(image)] : -1),
      show: (image, letters) => (firstKernel.has(image) ? fitName(named[firstKernel.get(image)], letters) : "-"),
    },
  ].concat(several ? [fileColumn((image) => images.file[image])] : [],
    [{ title: "Image", width: 76, kind: "number", value: (image) => images.index[image] }], sizes(images), common_columns((image) => image),
    [{ title: "Kernels", width: 84, kind: "number", value: (image) => images.kernels[image] }]),
});
tips(kernelGrid.element, "td.name", (cell) => {
  const row = rowAt(kernelGrid, cell);
  return row === undefined ? null : [make("b", {}, names[named[row]]), make("p", { class: "dim" }, mangled[named[row]])];
});

const ofImage = images.file.map((file, image) => [texts[images.target[image]], texts[images.state[image]], texts[images.format[image]],
  texts[images.requires[image]], several ? files[file].path : ""].join("\n").toLowerCase());
let kernelTexts = null, imageTexts = null, filter = [], shown = "kernels";
function refresh() {
  kernelTexts = kernelTexts || named.map((name, row) => (names[name] + "\n" + mangled[name] + "\n" + ofImage[imageOf(row)]).toLowerCase());
  if (shown === "kernels") {
    kernelGrid.show(filter.length ? [...named.keys()].filter((row) => has(kernelTexts[row], filter)) : [...named.keys()]);
  } else {
    if (!imageTexts) {
      imageTexts = [...ofImage];
      named.forEach((name, row) => { imageTexts[imageOf(row)] += "\n" + names[name].toLowerCase(); });
    }
    imageGrid.show([...images.file.keys()].filter((image) => has(imageTexts[image], filter)));
  }
}
const both = make("div", {});
function swap() {
  const own = shown === "kernels" ? kernelGrid : imageGrid;
  both.replaceChildren(own.element);
  kernelGrid.count.hidden = shown !== "kernels";
  imageGrid.count.hidden = shown === "kernels";
  detail.replaceChildren();
  refresh();
}
const box = search("Filter by name, target, aspect", (text) => { filter = words(text); refresh(); });
const rows = choice("what a row is", [["kernels", "kernels"], ["images", "images"]], shown, (value) => { shown = value; swap(); });
main.append(section("table", "Kernels and images", "a row tells more when it is chosen; a title sorts",
  make("div", { class: "tools" }, box, rows, kernelGrid.count, imageGrid.count), both, detail));
swap();
kernelGrid.order("Stored", true);
imageGrid.order("Stored", true);

// A kernel or an image of the map, in the table.
function reveal(leaf) {
  const want = leaf.kernel === undefined ? "images" : "kernels";
  document.getElementById("table").scrollIntoView({ block: "start" });
  rows.querySelector(`[data-value=${want}]`).click();
  if (leaf.kernel === undefined) fields(...tellImage(leaf.image));
  else {
    box.value = names[named[leaf.kernel]];
    filter = words(box.value);
    refresh();
    tellKernel(leaf.kernel);
  }
}
