/** Faults of documents: drawn twice, wrongly finalised, or readable after they were voided. */
import type { Mutant } from "./mutant.ts"

const documents_test = "test/server/documents/papers/documents.test.ts"
const batches_test = "test/server/documents/papers/batches.test.ts"

export const document_mutants: ReadonlyArray<Mutant> = [
  {
    name: "a document rendered from a draft can be finalised",
    file: "core/documents/decide.ts",
    within: "finaliseDocument",
    find: "if (row.of_draft)",
    replace: "if (row.of_draft && is_draft)",
    killed_by: [{ file: documents_test, test: "cannot be finalised if they were made of a draft invoice" }]
  },
  {
    name: "a voided document opens at its former link",
    file: "core/documents/decide.ts",
    within: "voidDocument",
    find: "uuid: null",
    replace: "uuid: row.uuid",
    killed_by: [{ file: documents_test, test: "have no URL once voided" }]
  },
  {
    name: "a lost PDF is replaced by a different one",
    file: "server/documents/papers/drawing.ts",
    within: "documentPdf",
    find: "!== sha256",
    replace: '=== ""',
    killed_by: [{ file: batches_test, test: "does not replace a lost PDF with a different one" }]
  }
]
