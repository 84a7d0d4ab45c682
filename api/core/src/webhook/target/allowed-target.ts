/**
 * One entry of `webhooks.allowedTargets` (D67), `host:port` or `host:*`, spelled as a URL's host is: lower case, an
 * IPv6 address in brackets. Undefined: it is none.
 */
export function parseAllowedTarget(entry: string): string | undefined {
  const [, host = '', port = ''] = /^(\[[0-9a-fA-F:.]+\]|[^\s:*/?#@[\]]+):(\*|\d{1,5})$/.exec(entry) ?? []
  if (port !== '*' && !(Number(port) >= 1 && Number(port) <= 65_535)) return undefined
  // The parser gives every spelling of a host one form, the one that a target's URL has when it is compared.
  const url = URL.parse(`http://${host}/`)
  return url === null || url.hostname === '' ? undefined : `${url.hostname}:${port === '*' ? port : Number(port)}`
}
