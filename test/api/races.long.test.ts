/** The races of `races.test.ts`, repeated until rare interleavings occur. */
import { invoiceRaces } from "./invoice-races.ts"
import { shareOf } from "../share.ts"
import { receiptRaces } from "./receipt-races.ts"

invoiceRaces(shareOf(100), shareOf(12))
receiptRaces(shareOf(100))
