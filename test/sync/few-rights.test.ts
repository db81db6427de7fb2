/** People of the system's own roles are answered by their device as the server answers them. */
import { describe, it } from "vitest"
import { systemRoles } from "../../core/people/users/permissions.ts"
import { fewRights, people, tokens } from "./few-rights.ts"

/** The rest of all people and tokens is walked through by the long tests beside this one. */
const system_people = people.filter(([name]) => systemRoles.some((role) => role.name === name))
const few = system_people.filter(([name]) => ["Sales", "Warehouse"].includes(name))

describe("users with few permissions, at a device and at the server", () => {
  const rights = fewRights()
  it.each(few)("%s: every query has one answer, and the device has nothing beyond what its user may see", (_, held) =>
    rights.sameAnswers(held)
  )
  it.each(tokens.slice(0, 1))(
    "a token to %s: every question has one answer, though its person may do everything",
    (_, abilities) => rights.sameAnswersWithToken(abilities)
  )
  it.each(system_people.slice(0, 1))(
    "%s: the server accepts what a device accepts, and the device refused what the server refuses, for the same reason",
    (_, held) => rights.sameVerdicts(held)
  )
})
