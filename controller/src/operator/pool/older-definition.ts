// A controller that is newer than the definition of TritonPools in the cluster, as in the middle of an upgrade, or
// where definitions are installed apart. The API server refuses a status with a field that the definition does not
// declare, all of it; so that field is left out, rather than having no status at all.

const undeclared = /\.status((?:\.\w+|\[[^\]]*\])+): field not declared in schema/g

/** `status` without what the words of the refusal name; undefined when it is another refusal. */
export function withoutUndeclared<T extends object>(status: T, message: string): T | undefined {
  const paths = Array.from(message.matchAll(undeclared), ([, path = '']) => path.replaceAll(/\[[^\]]*\]/g, '').slice(1))
  if (paths.length === 0) return undefined
  const left = structuredClone(status)
  for (const path of paths) remove(left, path.split('.'))
  return left
}

/** Of lists in each item. */
function remove(value: unknown, [first = '', ...rest]: readonly string[]): void {
  if (Array.isArray(value)) for (const item of value) remove(item, [first, ...rest])
  else if (typeof value === 'object' && value !== null) {
    if (rest.length === 0) Reflect.deleteProperty(value, first)
    else remove(Reflect.get(value, first), rest)
  }
}
