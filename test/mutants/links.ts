/** Faults of public links: what lets somebody read or accept who must not, or more than once. */
import type { Mutant } from "./mutant.ts"

const opened = "server/documents/links/opened.ts"
const tries = "server/documents/links/accept.ts"
const links = "test/server/documents/papers/links.test.ts"
const acceptance = "test/server/documents/papers/acceptance.test.ts"

export const link_mutants: ReadonlyArray<Mutant> = [
  {
    name: "a link opens after its end",
    file: opened,
    within: "openLink",
    find: "link.expires_at !== null && link.expires_at <= now",
    replace: "link.expires_at !== null && link.expires_at < now",
    killed_by: [{ file: links, test: "expire to the second" }]
  },
  {
    name: "any PIN opens a link",
    file: "server/documents/links/public-links.ts",
    within: "isPin",
    find: "timingSafeEqual(tried, is_known ? right : Buffer.alloc(key_bytes)) && is_known",
    replace: "is_known",
    killed_by: [{ file: links, test: "ask for the PIN by a form" }]
  },
  {
    name: "a sixth PIN is looked at",
    file: tries,
    within: "waitFor",
    find: "counted.at(-max)",
    replace: "counted.at(-max - 1)",
    killed_by: [{ file: links, test: "take five wrong PINs from one network" }]
  },
  {
    name: "a cookie outlives its hour",
    file: "server/documents/links/pages.ts",
    within: "hasPass",
    find: "Number(expires) * 1_000 <= now_millis",
    replace: "Number(expires) * 1_000 <= 0",
    killed_by: [{ file: links, test: "let a reader in for an hour" }]
  },
  {
    name: "a voided document has an address",
    file: "core/documents/links/decide.ts",
    within: "whyNotShared",
    find: `status === "generated" || status === "finalised"`,
    replace: `status !== "pending" && status !== "failed"`,
    killed_by: [{ file: links, test: "refuse PINs of invalid length or characters" }]
  },
  {
    name: "a changed quotation is accepted",
    file: "server/documents/links/accept.ts",
    within: "isOffered",
    find: "offerText(prepared.compose({})) === offerText(text.document)",
    replace: "true",
    killed_by: [{ file: acceptance, test: "needs a new document once the job was changed" }]
  },
  {
    name: "a lost quotation is accepted",
    file: "core/documents/links/acceptance.ts",
    within: "whyNotAccepted",
    find: "isClosed(opportunity)",
    replace: "false",
    killed_by: [{ file: acceptance, test: "is refused of a job that is lost" }]
  }
]
