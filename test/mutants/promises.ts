/** Faults in customer commitments: extended hires, and orders of blocked customers. */
import { faultsIn, type Mutant } from "./mutant.ts"

const scenario = "test/core/orders/opportunities/extension/extension.test.ts"
const extension = (file: string) => faultsIn(`core/orders/opportunities/extension/${file}.ts`, scenario, "sqlite")
const plan = extension("plan"),
  decide = extension("decide")
const planned = faultsIn(
  "core/orders/opportunities/extension/plan.ts",
  "test/core/orders/opportunities/extension/plan.test.ts"
)
const order_warnings_test = "test/core/orders/opportunities/order-warnings.test.ts"
const goes_along = '(goes === "named" || isOfHire(own, bound, header, seen))'

const early_test = "test/core/orders/opportunities/extension/return-early.test.ts"
const early = (file: string) => faultsIn(`core/orders/opportunities/extension/${file}.ts`, early_test, "sqlite")
const split = early("split"),
  returned = early("return-early")
const credit_draft = faultsIn("core/billing/credits/draft.ts", early_test, "sqlite")

export const promise_mutants: ReadonlyArray<Mutant> = [
  plan(
    "lines with the order's dates are not extended with it",
    "lineDates",
    { find: goes_along, replace: 'goes === "named"' },
    "moves the header, lines with the old end, charge dates, price and demands together"
  ),
  plan(
    "lines with their own end are extended with the order",
    "lineDates",
    { find: goes_along, replace: "own !== undefined" },
    "moves the header, lines with the old end, charge dates, price and demands together"
  ),
  decide(
    "an extended hire keeps its former claims on stock",
    "extendHire",
    { find: "{ priced: repriced, demanded }", replace: "{ priced: repriced }" },
    "moves the header, lines with the old end, charge dates, price and demands together"
  ),
  plan(
    "a second extension overwrites the original end",
    "agreedDates",
    { find: "|| (agreed !== null && agreed !== set[bound])", replace: "" },
    "keeps the first agreed end over two extensions, and shows the first extension in the activity"
  ),
  decide(
    "only the database rejects an extension into another order's unit",
    "requireUnits",
    { find: "if (held.length === 0) return", replace: "if (held.length >= 0) return" },
    "is rejected if another order holds a unit, naming that order"
  ),
  decide(
    "an extension ignores the store's policy to block shortages",
    "gate",
    { find: 'policy.effective === "block"', replace: "policy.store === policy.effective && short.length > 1_000" },
    "warns of a shortage and its holder, or is rejected, by the store's policy"
  ),
  planned(
    "an extension leaves the charge's end unchanged",
    "headerDates",
    { find: "&& goes_along", replace: "&& !goes_along" },
    "moves a charge end only if it equals the hire's end"
  ),
  planned(
    "lines that should keep their dates are extended with the order",
    "lineDates",
    { find: "own === null && header[bound] !== null && date !== header[bound]", replace: "own !== null" },
    "pins lines without their own dates to the old end"
  ),
  plan(
    "an extension charges returned goods",
    "planExtension",
    { find: 'which === "keep" || is_back', replace: 'which === "keep"' },
    "does not charge returned lines for longer"
  ),
  plan(
    "a line may end before it begins",
    "inOrder",
    { find: "ends_at < starts_at", replace: "ends_at === null" },
    "is rejected for invalid values, a cancelled order or missing permission, and changes nothing"
  ),
  decide(
    "an extended hire keeps its former price",
    "isRepriced",
    { find: "if (plan.lines.has(id)) return true", replace: "if (plan.lines.has(id)) return false" },
    "moves the header, lines with the old end, charge dates, price and demands together",
    "can be to an earlier end, which lowers the price and releases stock"
  ),
  faultsIn("core/orders/opportunities/extension/facts.ts", order_warnings_test, "sqlite")(
    "a customer over the credit limit cannot shorten a hire",
    "extendHire",
    { find: "isLonger(plan, header)", replace: "plan.kept.length >= 0" },
    "count open invoices, other unbilled orders and this order against the credit limit"
  ),
  faultsIn("core/orders/opportunities/state/policies.ts", order_warnings_test, "sqlite")(
    "an order is confirmed despite the customer's credit status",
    "requireStanding",
    { find: "blocked.length > 0", replace: "blocked.length > 1_000" },
    "name a customer on stop at creation, quotation and change of customer; the policy may block the order"
  ),
  split(
    "a part that came back early stays on its line, too",
    "splitLine",
    { find: "quantity: less(before.quantity, quantity),", replace: "" },
    "splits bulk goods from their line, charges them until the return, and frees their stock"
  ),
  split(
    "a part that came back early is charged in full",
    "atDates",
    { find: "line.discounted_total === today ? then : ratio(line.discounted_total, then, today)", replace: "today" },
    "two days at 10.00 a day"
  ),
  split(
    "a part is charged at today's rate, not at the one agreed",
    "atDates",
    { find: "line.discounted_total === today ? then : ratio(line.discounted_total, then, today)", replace: "then" },
    "charges the part by the rate agreed for the line, although the product's rate has changed since"
  ),
  split(
    "the units of a part stay on the line it was split from",
    "splitLine",
    { find: "ids.has(unit.id) ? { ...unit, opportunity_item_id: part.id } : unit", replace: "unit" },
    "holds the extended unit until the new end, and no other unit"
  ),
  returned(
    "a part that came back early is still demanded",
    "splitParts",
    { find: "returned_quantity: part.quantity", replace: 'returned_quantity: "0.00"' },
    "splits bulk goods from their line, charges them until the return, and frees their stock"
  ),
  returned(
    "what was checked in before is counted in again",
    "countedIn",
    { find: "if (!already_back)", replace: "if (true)" },
    "splits off goods that were checked in before, without counting them twice"
  ),
  returned(
    "more comes back early than is out",
    "countedIn",
    { find: "exact(quantity).greaterThan(out)", replace: "false" },
    "is rejected for more than is out, for a time in the future, for sold goods and on a quotation"
  ),
  credit_draft(
    "what was billed beyond is not credited",
    "draftRows",
    { find: "Math.min(net, left,", replace: "Math.min(0, left," },
    "holds the amount billed beyond the order's total until issued; then nothing is left to credit or bill"
  ),
  credit_draft(
    "more is credited than is billed beyond the total",
    "draftRows",
    { find: "let left = -leftToBill(billed)", replace: "let left = 1e9" },
    "is reduced by the cost of goods that stay longer and of lines added later"
  )
]
