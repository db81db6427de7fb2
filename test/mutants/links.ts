/** Faults of public links: reading or accepting without permission, or more than once. */
import type { Mutant } from "./mutant.ts"

const opened = "server/documents/links/public-links.ts"
const tries = "server/documents/links/accept.ts"
const links = "test/server/documents/papers/links.test.ts"
const acceptance = "test/server/documents/papers/acceptance.test.ts"

export const link_mutants: ReadonlyArray<Mutant> = [
  {
    name: "an expired link opens",
    file: opened,
    within: "openLink",
    find: "link.expires_at !== null && link.expires_at <= now",
    replace: "link.expires_at !== null && link.expires_at < now",
    killed_by: [{ file: links, test: "expire at their expiry time, and not a millisecond earlier" }]
  },
  {
    name: "any PIN opens a link",
    file: "server/documents/links/public-links.ts",
    within: "isPin",
    find: "timingSafeEqual(tried, is_known ? right : Buffer.alloc(key_bytes)) && is_known",
    replace: "is_known",
    killed_by: [{ file: links, test: "show nothing of the document before the PIN is right" }]
  },
  {
    name: "a sixth PIN is still checked after five wrong ones",
    file: tries,
    within: "waitFor",
    find: "counted.at(-max)",
    replace: "counted.at(-max - 1)",
    killed_by: [{ file: links, test: "allow five wrong PINs from one network in 15 minutes" }]
  },
  {
    name: "a cookie is valid beyond its hour",
    file: "server/documents/links/pages.ts",
    within: "hasPass",
    find: "Number(expires) * 1_000 <= now_millis",
    replace: "Number(expires) * 1_000 <= 0",
    killed_by: [{ file: links, test: "admit a reader by a cookie for this one page" }]
  },
  {
    name: "a voided document has a link",
    file: "core/documents/links/decide.ts",
    within: "whyNotShared",
    find: `status === "generated" || status === "finalised"`,
    replace: `status !== "pending" && status !== "failed"`,
    killed_by: [{ file: links, test: "refuse invalid PINs, past expiry times and documents that are not generated" }]
  },
  {
    name: "a quotation changed since it was sent can be accepted",
    file: "server/documents/links/accept.ts",
    within: "isOffered",
    find: "offerText(prepared.compose({})) === offerText(text.document)",
    replace: "true",
    killed_by: [
      { file: acceptance, test: "cannot be accepted after a line's quantity or the opportunity's dates changed" }
    ]
  },
  {
    name: "a lost quotation can be accepted",
    file: "core/documents/links/acceptance.ts",
    within: "whyNotAccepted",
    find: "isClosed(opportunity)",
    replace: "false",
    killed_by: [{ file: acceptance, test: "cannot be accepted for a lost, dead or deleted opportunity" }]
  }
]
