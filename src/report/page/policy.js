// The policy that the files are held to: what it finds beyond single kernels on targets, and what its exceptions excuse.

function policyParts(own) {
  const found = own.findings.map((one) => {
    const where = one.places.join(", ") + (one.more ? ` and ${number(one.more)} more` : "");
    const [sign, , kind] = VERDICTS[one.certain ? 2 : 1];
    return make("li", {}, make("p", { class: kind }, `${sign} ${one.target ? one.target + ": " : ""}${one.message} (${one.rule}${one.certain ? "" : ", not sure"})`),
      where ? make("p", { class: "dim" }, where) : null, make("p", { class: "dim" }, "help: " + one.remedy));
  });
  const rows = own.exceptions.map((one) => [one.what, one.targets.join(", ") || "all", one.reason,
    one.ended ? one.until + ", ended" : one.until, number(one.kernels)]);
  return [found.length ? make("ul", { class: "found" }, found) : null,
    rows.length ? plain(["Exception", "Targets", "Reason", "Until", "Kernels"], rows, ["text", "text", "text", "text", "number"]) : null];
}
