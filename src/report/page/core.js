// Reading the data, making elements, telling numbers, and the tip at the pointer. Text becomes text nodes only.

const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");

// make("td", {class: "number"}, "12"): attributes, listeners ("onclick"), and children; those that are null are left out.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

// Sorted texts of which each stands for what it does not share with the one before.
function unpack(packed) {
  let before = "";
  return packed.map(([shared, rest]) => (before = before.slice(0, shared) + rest));
}

const names = unpack(data.names.shown);
const mangled = data.names.mangled.length ? unpack(data.names.mangled) : names;
const families = data.names.families;
const familyOf = data.names.family;

const number = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");
const counted = (value, noun) => number(value) + " " + noun + (value === 1 ? "" : "s");

// As the tool's tables have it: three significant digits.
function bytes(value) {
  if (value < 1024) return value + " B";
  let unit = "B";
  for (const next of ["KiB", "MiB", "GiB", "TiB", "PiB"]) {
    if (value < 1023.5) break;
    value /= 1024;
    unit = next;
  }
  return value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0) + " " + unit;
}

function signed(value) {
  return value === 0 ? "=" : (value > 0 ? "+" : "-") + bytes(Math.abs(value));
}

function share(part, whole) {
  if (!whole) return "0 %";
  const percent = (part * 100) / whole;
  if (part > 0 && percent < 0.05) return "< 0.1 %";
  return percent.toFixed(percent < 10 ? 1 : 0) + " %";
}

// At most so many letters: the middle gives way.
function fit(text, letters) {
  if (text.length <= letters) return text;
  const kept = Math.max(letters - 1, 2);
  const head = Math.ceil(kept / 2);
  return text.slice(0, head) + "…" + text.slice(text.length - (kept - head));
}

// The same where the end says most.
const fitEnd = (text, letters) => (text.length <= letters ? text : "…" + text.slice(text.length - Math.max(letters - 1, 2)));

// A kernel's name in little room: its namespaces give way first, then the middle.
function fitName(name, letters) {
  const text = names[name];
  const family = families[familyOf[name]];
  const start = text.startsWith(family) ? family.lastIndexOf("::") + 2 : 0;
  return text.length <= letters || start < 2 ? fit(text, letters) : fit("…" + text.slice(start), letters);
}

const baseName = (path) => path.split(/[\/\\!]/).pop() || path;

// Words that all have to be there, whatever the case.
function words(text) {
  return text.toLowerCase().split(/\s+/).filter((word) => word);
}

const has = (text, all) => all.every((word) => text.includes(word));

const sum = (values) => values.reduce((all, one) => all + one, 0);

// A phone's window: names come first, and columns are narrow.
const NARROW = window.innerWidth < 700;

// The tip is at the pointer, or at what has the focus, and stays within the window. One that a tap shows can be scrolled.
const tip = document.getElementById("tip");
tip.remove();
document.body.append(tip);

function showTip(children, box) {
  tip.replaceChildren(...children.flat(Infinity).filter((child) => child));
  tip.hidden = false;
  const own = tip.getBoundingClientRect();
  const [width, height] = [document.documentElement.clientWidth, window.innerHeight];
  const left = Math.max(4, Math.min(box.left, width - own.width - 8));
  const below = box.bottom + 6;
  const top = below + own.height < height ? below : Math.max(4, box.top - own.height - 6);
  tip.style.left = left + "px";
  tip.style.top = top + "px";
}

function hideTip() {
  tip.hidden = true;
  told = null;
}

// Whose tip is shown: others of the same host leave it alone.
let told = null;

// Gives elements within `host` that match `selector` a tip: what `tell` returns, on hover, on focus and by a tap.
function tips(host, selector, tell) {
  const over = (event) => {
    const target = event.target.closest(selector);
    const hide = () => { if (told === over) hideTip(); };
    if (!target || !host.contains(target)) return hide();
    // A tap gives the focus, too, and what is drawn anew then has it: only keys ask with it.
    if (event.type === "focusin" && !target.matches(":focus-visible")) return;
    const children = tell(target);
    if (!children) return hide();
    told = over;
    let box = target.getBoundingClientRect();
    if (event.type === "mousemove" || event.type === "click") {
      box = { left: event.clientX + 12, top: event.clientY - 6, bottom: event.clientY + 10 };
    }
    tip.classList.toggle("held", event.type === "click");
    showTip(children, box);
  };
  host.addEventListener("mousemove", over);
  host.addEventListener("focusin", over);
  host.addEventListener("click", over);
  host.addEventListener("mouseleave", hideTip);
  host.addEventListener("focusout", hideTip);
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTip();
});
document.addEventListener("scroll", (event) => {
  if (event.target !== tip) hideTip();
}, true);

// A part of the page, with its title and a line that says what it shows.
function section(id, title, hint, ...children) {
  return make("section", { id, "aria-labelledby": id + "-title" },
    make("div", { class: "head" }, make("h2", { id: id + "-title" }, title), hint ? make("p", {}, hint) : null),
    children);
}

// A table of few rows, of which all columns but the first are numbers, or are `kinds`.
function plain(titles, rows, kinds) {
  const cell = (tag) => (text, at) => make(tag, { class: kinds ? kinds[at] : at ? "number" : "text" }, text);
  return make("div", { class: "plain" }, make("table", {}, make("thead", {}, make("tr", {}, titles.map(cell("th")))),
    make("tbody", {}, rows.map((row) => make("tr", {}, row.map(cell("td")))))));
}

// Buttons of which one is on.
function choice(label, options, chosen, pick) {
  const buttons = options.map(([value, text]) =>
    make("button", {
      type: "button", "aria-pressed": String(value === chosen), "data-value": value,
      onclick: () => {
        buttons.forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.value === value)));
        pick(value);
      },
    }, text));
  return make("div", { class: "choice", role: "group", "aria-label": label }, buttons);
}

function search(label, pick) {
  return make("input", {
    type: "search", placeholder: label, "aria-label": label, spellcheck: "false", autocomplete: "off",
    oninput: (event) => pick(event.target.value),
  });
}
