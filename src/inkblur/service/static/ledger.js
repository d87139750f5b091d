// Ledger: who released what, what is left, and whether the account is intact.

import { $, ask, guarded, hasToken, json, make, number, save } from "./ask.js";

const HEADS = [["When (UTC)"], ["Who"], ["What"], ["Texts", 1], ["Draws", 1], ["State"]];
const STATES = { confirmed: "released", reserved: "not finished, counted as spent", void: "abandoned, nothing spent" };

// On a narrow screen the rows are cards: the roles say that it is still a table.
function cell(text, place) {
  const [head, figure] = HEADS[place];
  return make("td", { role: "cell", "data-head": head, ...(figure ? { class: "figure" } : {}) }, text);
}

const heading = ([text, figure]) => make("th", { role: "columnheader", scope: "col", ...(figure ? { class: "figure" } : {}) }, text);

export const readLedger = guarded(async () => {
  const ledger = await json("/v1/ledger");
  const budgets = [];
  if (ledger.budget !== null) budgets.push(`A record may spend ${number.format(ledger.budget)} in total.`);
  if (ledger.person_budget !== null) budgets.push(`A person may spend ${number.format(ledger.person_budget)} in total.`);
  for (const [who, loss] of Object.entries(ledger.largest_loss)) budgets.push(`A ${who} has lost at most ${number.format(loss)} so far.`);
  const limits = ledger.budget !== null || ledger.person_budget !== null ? budgets.join(" ") : ["No budget is set: releases are counted, but never refused for what they spend.", ...budgets].join(" ");
  const shown = ledger.releases.length < ledger.total ? `The newest ${ledger.releases.length} of ` : "";
  $("budgets").textContent = `${limits} ${shown}${number.format(ledger.total)} ${ledger.total === 1 ? "release" : "releases"}${shown ? "" : " so far"}.`;
  $("newest").textContent = ledger.anchor;
  $("owner-box").hidden = !hasToken();
  const rows = ledger.releases.map((each) => make("tr", { role: "row" }, ...[
    each.opened.slice(0, 16).replace("T", " "),
    each.caller || "this machine",
    `${each.mechanism}, epsilon ${each.epsilon} for a ${each.unit}${each.unbounded ? "; no bound" : ""}`,
    number.format(each.records),
    number.format(each.words),
    STATES[each.state] ?? each.state,
  ].map(cell)));
  const none = make("tr", { role: "row" }, make("td", { role: "cell", colspan: HEADS.length }, "Nothing was released yet."));
  $("releases").replaceChildren(
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...HEADS.map(heading))),
    make("tbody", { role: "rowgroup" }, ...(rows.length ? rows : [none])));
});

$("refresh").addEventListener("click", readLedger);
$("spent-form").addEventListener("submit", guarded(async () => {
  const asked = { person: $("person").value, caller: hasToken() ? $("owner").value : "" };
  const { spent, left, unbounded } = await json("/v1/ledger/spent", asked);
  const rest = left === null ? "" : `, ${number.format(left)} left`;
  $("spent").textContent = `${number.format(spent)} spent${unbounded ? ", and a release without a bound" : ""}${rest}.`;
}));
$("verify-form").addEventListener("submit", guarded(async () => {
  const anchor = $("anchor").value.trim();
  const { intact, problems } = await json("/v1/ledger/verify", { anchor: anchor || null });
  $("verified").className = intact ? "good" : "bad";
  const unseen = anchor ? "" : " Without an anchor, entries missing at the end do not show.";
  $("verified").textContent = intact ? `Intact: no entry was changed or removed.${unseen}` : problems.join("; ");
}));
$("export").addEventListener("click", guarded(async () => {
  save(await (await ask("/v1/ledger/export")).blob(), "ledger.csv");
}));
