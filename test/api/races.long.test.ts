/** What `races.test.ts` plays, so often that a rare interleaving comes up. */
import { invoiceRaces } from "./invoice-races.ts"
import { shareOf } from "../share.ts"
import { receiptRaces } from "./receipt-races.ts"

invoiceRaces(shareOf(100), shareOf(12))
receiptRaces(shareOf(100))
