/** Namespace names, separated by commas. @throws Error for an invalid name */
export function parseNamespaces(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim())
  const wrong = names.find((name) => !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name))
  if (wrong !== undefined) {
    throw new Error(`"${wrong}" is not a namespace name: use names such as team-a,team-b`)
  }
  return [...new Set(names)]
}
