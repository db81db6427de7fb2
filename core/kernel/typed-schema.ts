/** Where declared types meet the Schemas that are made of them. */
import type { Schema } from "effect"

/**
 * A Schema that was put together at run time from declarations (fields, tables, keys of an answer) with the type that
 * those declarations have. TypeScript cannot follow the way from one to the other; tests decode what is stored and
 * answered.
 */
export const typed = <S>(schema: Schema.Top): S => schema as unknown as S
