/** Concurrent requests over the API on Postgres; `races.long.test.ts` repeats them a hundred times. */
import { invoiceRaces } from "./invoice-races.ts"
import { receiptRaces } from "./receipt-races.ts"

invoiceRaces(5, 2)
receiptRaces(2)
