/** Several people at one thing over the server's interface on Postgres; a hundred times in `races.long.test.ts`. */
import { invoiceRaces } from "./invoice-races.ts"
import { receiptRaces } from "./receipt-races.ts"

invoiceRaces(5, 2)
receiptRaces(2)
