/**
 * All users with few permissions get the server's answers from their own device: nothing visible is missing, rules have
 * their facts, and it holds nothing hidden.
 */
import { share } from "../share.ts"
import { commanders, describeFewRights, people, tokens } from "./few-rights.ts"

describeFewRights({ people: share(people), tokens: share(tokens), commanders: share(commanders) })
