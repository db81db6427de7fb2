/** What `races.test.ts` plays, so often that a rare interleaving comes up. */
import { invoiceRaces } from "./invoice-races.ts"
import { receiptRaces } from "./receipt-races.ts"

invoiceRaces(100, 12)
receiptRaces(100)
