/**
 * A cheap check before decoding: whether data is exactly what its Schema decodes to. Nearly every stored event is, and
 * need not be copied. If in doubt the data is decoded in full, which reports errors.
 */
import { Exit, type Schema, type SchemaAST } from "effect"

type Test = (value: unknown) => boolean
const never: Test = () => false

const tests = new WeakMap<SchemaAST.AST, Test>()
const testOf = (ast: SchemaAST.AST): Test => {
  let test = tests.get(ast)
  if (test === undefined) tests.set(ast, (test = checkedBy(ast, buildTest(ast))))
  return test
}

/** True for values that decoding with this Schema returns unchanged. False may also mean unknown. */
export const isExactly = <S extends Schema.Top>(schema: S): ((value: unknown) => value is S["Type"]) => {
  const test = testOf(schema.ast)
  return (value): value is S["Type"] => test(value)
}

const passes = (check: SchemaAST.Check<unknown>, value: unknown, ast: SchemaAST.AST): boolean =>
  check._tag === "Filter"
    ? check.run(value, ast, {}) === undefined
    : check.checks.every((one) => passes(one, value, ast))
const checkedBy = (ast: SchemaAST.AST, test: Test): Test => {
  const { checks } = ast
  return checks === undefined ? test : (value) => test(value) && checks.every((check) => passes(check, value, ast))
}

const buildTest = (ast: SchemaAST.AST): Test => {
  // A transformation changes what was stored.
  if (ast.encoding !== undefined) return never
  switch (ast._tag) {
    case "String":
      return (value) => typeof value === "string"
    case "Number":
      return (value) => typeof value === "number"
    case "Boolean":
      return (value) => typeof value === "boolean"
    case "Null":
      return (value) => value === null
    case "Literal":
      return (value) => value === ast.literal
    case "Suspend":
      return (value) => testOf(ast.thunk())(value)
    case "Union":
      return ast.options?.mode === "oneOf" ? never : anyOf(ast.types.map(testOf))
    case "Arrays": {
      const [rest, ...others] = ast.rest
      if (ast.elements.length > 0 || rest === undefined || others.length > 0) return never
      const test = testOf(rest)
      return (value) => Array.isArray(value) && value.every(test)
    }
    case "Objects":
      return objectTest(ast)
    case "Declaration": {
      if (ast.typeParameters.length > 0) return never
      const run = ast.run([])
      return (value) => {
        const outcome = run(value, ast, {})
        return Exit.isExit(outcome) && Exit.isSuccess(outcome) && outcome.value === value
      }
    }
    default:
      return never
  }
}
const anyOf =
  (options: ReadonlyArray<Test>): Test =>
  (value) => {
    for (const option of options) if (option(value)) return true
    return false
  }

const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)
/** An object of these keys and no others, or of any keys with values of one kind. */
const objectTest = ({ indexSignatures, propertySignatures }: SchemaAST.Objects): Test => {
  const [index, ...others] = indexSignatures
  if (index !== undefined) {
    if (propertySignatures.length > 0 || others.length > 0 || index.parameter._tag !== "String") return never
    const test = testOf(index.type)
    return (value) => isObject(value) && Object.values(value).every(test)
  }
  const byKey = new Map<PropertyKey, { readonly test: Test; readonly is_required: boolean }>(
    propertySignatures.map(({ name, type }) => [
      name,
      { test: testOf(type), is_required: type.context?.isOptional !== true }
    ])
  )
  const required = propertySignatures.filter(({ type }) => type.context?.isOptional !== true).length
  return (value) => {
    if (!isObject(value)) return false
    let missing = required
    for (const key in value) {
      const property = byKey.get(key)
      if (property === undefined || !property.test(value[key])) return false
      if (property.is_required) missing--
    }
    return missing === 0
  }
}
