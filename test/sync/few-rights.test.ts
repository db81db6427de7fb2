/** People of the system's own roles are answered by their device as the server answers them. */
import { systemRoles } from "../../core/people/users/permissions.ts"
import { describeFewRights, people, tokens } from "./few-rights.ts"

/** The rest of all people and tokens is walked through by the long tests beside this one. */
const system_people = people.filter(([name]) => systemRoles.some((role) => role.name === name))
const few = system_people.filter(([name]) => ["Sales", "Warehouse"].includes(name))

describeFewRights({ people: few, tokens: tokens.slice(0, 1), commanders: system_people.slice(0, 1) })
