/** People of the system's own roles are answered by their device as the server answers them. */
import { describe, it } from "vitest"
import { systemRoles } from "../../core/people/users/permissions.ts"
import { fewRights, people, tokens } from "./few-rights.ts"

/** The rest of all people and tokens is walked through by the long tests beside this one. */
const system_people = people.filter(([name]) => systemRoles.some((role) => role.name === name))
const few = system_people.filter(([name]) => ["Sales", "Warehouse"].includes(name))

describe("a device of a user with few permissions", () => {
  const rights = fewRights()
  it.each(few)("(%s) answers queries like the server, and holds nothing beyond what its user may see", (_, held) =>
    rights.sameAnswers(held)
  )
  it.each(tokens.slice(0, 1))("(all permissions, but a token to %s) answers queries like the server", (_, abilities) =>
    rights.sameAnswersWithToken(abilities)
  )
  it.each(system_people.slice(0, 1))(
    "(%s) accepts and refuses commands like the server, for the same reasons",
    (_, held) => rights.sameVerdicts(held)
  )
})
