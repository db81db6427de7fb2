/** Faults of units out of service: still allocated or rented, or never returned to stock. */
import { faultsIn, type Mutant } from "./mutant.ts"

const fault = (file: string) => faultsIn(file, "test/core/warehouse/workshop/workshop.test.ts", "sqlite")

export const service_mutants: ReadonlyArray<Mutant> = [
  fault("core/orders/opportunities/units/decide.ts")(
    "a unit out of service can be allocated",
    "allocationRefusal",
    { find: "if (out !== undefined)", replace: "if (out === null)" },
    "keeps a unit from allocation and dispatch, and names the order it leaves short"
  ),
  fault("core/orders/opportunities/units/lifecycle.ts")(
    "a unit out of service can be booked out",
    "isInService",
    { find: "return out === undefined", replace: "return out !== null" },
    "keeps a unit from allocation and dispatch, and names the order it leaves short"
  ),
  fault("core/orders/availability/rules/snapshot.ts")(
    "units out of service count as free",
    "demandOf",
    { find: "is_active: true", replace: "is_active: false" },
    "takes a unit out of rentable stock until it is released, and keeps the history"
  ),
  fault("core/warehouse/workshop/decide.ts")(
    "a release does not end the service record",
    "release",
    { find: "[...without(open, record), ...left]", replace: "open" },
    "takes a unit out of rentable stock until it is released, and keeps the history"
  ),
  fault("core/products/stock/schema.ts")(
    "a unit overdue from repair counts as free",
    "outOfServicePeriod",
    { find: "is_overdue ? openEndMillis : Math.max(from, expected)", replace: "Math.max(from, expected)" },
    "counts a unit again from the day it is expected back, unless that day has passed"
  ),
  fault("core/warehouse/workshop/reactions.ts")(
    "a unit checked in as damaged stays in service",
    "isUnfit",
    { find: "condition === damaged", replace: "condition === null" },
    "records damaged returns as quarantined and missing ones as lost, in the same command"
  ),
  fault("core/kernel/runtime/prepare.ts")(
    "users who may not see stock may charge service records",
    "authorizeCall",
    { find: "endpoint.permission === null", replace: "endpoint.permission !== null" },
    "responds 404 to a charge by users without stock.view, as for an unknown record"
  )
]
