/** Users of the default roles get the server's answers from their own device. */
import { systemRoles } from "../../core/people/users/decide.ts"
import { describeFewRights, people, tokens } from "./few-rights.ts"

/** The long tests beside this file cover all other users and tokens. */
const system_people = people.filter(([name]) => systemRoles.some((role) => role.name === name))
const few = system_people.filter(([name]) => ["Sales", "Warehouse"].includes(name))

describeFewRights({ people: few, tokens: tokens.slice(0, 1), commanders: system_people.slice(0, 1) })
