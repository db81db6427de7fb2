/** What procurement needs a server for: mail to suppliers, and what is due at certain times. */
import { Context, Effect } from "effect"
import { PurchaseOrderMailer } from "../../core/procurement/orders/mailing.ts"
import type { ServerSlice } from "../server-slice.ts"
import { returnSweep } from "./return-due.ts"
import { mailPurchaseOrder, purchaseOrderMailOffer } from "./mail.ts"

export const procurementServerSlice: ServerSlice = {
  name: "procurement_server",
  jobs: [mailPurchaseOrder],
  timed: [returnSweep],
  services: ({ jobs }) =>
    Context.make(PurchaseOrderMailer, (mail) => Effect.asVoid(jobs.offer(purchaseOrderMailOffer(mail))))
}
