/** Faults of scanning: the wrong unit, the wrong line, an unreported broken seal. */
import { faultsIn, type Mutant } from "./mutant.ts"

const scans = "test/core/warehouse/scanning/scan.test.ts",
  cases = "test/core/warehouse/scanning/cases.test.ts"
const within = (file: string, test_file = scans) => faultsIn(`core/warehouse/scanning/${file}.ts`, test_file, "sqlite")

export const scanning_mutants: ReadonlyArray<Mutant> = [
  within("unit-out", cases)(
    "a unit is taken out of a sealed case without confirmation",
    "takingOut",
    { find: "sealed.length > 0 && !break_seal", replace: "sealed.length > 1_000 && !break_seal" },
    "requires confirmation for a unit in a sealed case, and records the broken seal"
  ),
  within("unit-out", cases)(
    "the seal of a scanned unit's case is not recorded as broken",
    "takingOut",
    { find: "...sealed.map((one) => sealBroken(one, reason, context)),", replace: "" },
    "takes a unit out of a sealed kit if the scan breaks the seal, which opens the kit"
  ),
  within("unit-out")(
    "only later rules refuse a unit that is out with another order",
    "unitOut",
    { find: "if (holder !== undefined)", replace: "if (holder === null)" },
    "changes nothing if rejected, not even the unit's allocation"
  ),
  within("cases", cases)(
    "an open case is dispatched with all its units",
    "caseOut",
    { find: 'container.status !== "sealed"', replace: 'container.status === "returned"' },
    "rejects a case with content that the order does not need, and an open case"
  ),
  within("cases", cases)(
    "a case is dispatched without the units the order did not request",
    "levelsOut",
    {
      find: "if (line === undefined) return yield* reject(",
      replace: "if (line === undefined) continue; else if (level.id < 0) return yield* reject("
    },
    "rejects a case with content that the order does not need, and an open case"
  ),
  within("lines")(
    "every scanned unit goes to the first line, even if that is full",
    "lineFor",
    { find: "lines.find((line) => hasRoom(known, line, product_id, depth, given)) ?? lines[0]", replace: "lines[0]" },
    "assigns a unit to the first line that needs one, and rejects it once all are complete"
  ),
  within("lines")(
    "more of a bulk product is dispatched than was counted",
    "spread",
    { find: "rest -= part", replace: "rest -= 0" },
    "spreads a bulk quantity over the lines that need it"
  ),
  within("coming-in", cases)(
    "a case is checked in from an order that does not hold it",
    "caseIn",
    { find: "known !== undefined && container.opportunity_id !== known.opportunity.header.id", replace: "false" },
    "rejects the return of a case on another order than it went out with"
  ),
  within("codes")(
    "an ambiguous code stands for the first of its units",
    "rowsWith",
    { find: "others.length === 0", replace: "others.length >= 0" },
    "an unknown code with the nearest match, and an ambiguous code"
  ),
  within("codes")(
    "a quantity before the code is ignored",
    "readCode",
    { find: "after?.[2] ?? before?.[1]", replace: "after?.[2]" },
    "spreads a bulk quantity over the lines that need it"
  ),
  within("gs1")(
    "GTINs match only at their own length",
    "tradeNumbers",
    { find: "[13, 12, 8]", replace: "[8]" },
    "spreads a bulk quantity over the lines that need it"
  ),
  faultsIn("core/orders/opportunities/state/pieces.ts", scans, "sqlite")(
    "a kit counts as dispatched with the first of its parts",
    "piecesOfLine",
    { find: "Math.floor(has(product_id, status) / per_kit)", replace: "has(product_id, status) * per_kit * 2" },
    "counts a kit's serialised part on the kit's line once, and finds it again on return"
  )
]
