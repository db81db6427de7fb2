/**
 * What people with few rights ask of their own device is answered as the server answers them: what is kept from a device
 * is nothing that its person would have been shown, and what rules need is there. Nor does it hold anything beyond that.
 */
import { share } from "../share.ts"
import { commanders, describeFewRights, people, tokens } from "./few-rights.ts"

describeFewRights({ people: share(people), tokens: share(tokens), commanders: share(commanders) })
