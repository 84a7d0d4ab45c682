// A script of a page in a browser: sends `Origin`, and keeps the session cookie as a browser does, where the script
// cannot read it.
import { ApiError } from '../../client.ts'

export type PageScript = {
  /** Sends a POST below `/api/v1/app`. @throws ApiError */
  post<T = unknown>(path: string, body?: unknown, options?: PostOptions): Promise<T>
  /** The cookie as the browser would send it, `name=value`; undefined without one. */
  readonly cookie: () => string | undefined
  /** `Set-Cookie` of the last response that had one. */
  readonly lastSetCookie: () => string | undefined
  /** Another tab of the same browser before the next response arrives: it sends the cookie of this moment. */
  readonly otherTab: () => PageScript
}

type PostOptions = { readonly accessToken?: string; readonly origin?: string | undefined }

const cookiePath = '/auth'

export function openPage(
  url: string,
  { origin: own = url, cookie = undefined as string | undefined } = {},
): PageScript {
  let kept = cookie
  let last: string | undefined

  function keep(line: string): void {
    last = line
    const [pair = ''] = line.split(';')
    kept = /;\s*max-age=0(;|$)/i.test(line) ? undefined : pair
  }

  return {
    post: async <T>(path: string, body?: unknown, { accessToken, origin = own }: PostOptions = {}) => {
      const response = await fetch(`${url}/api/v1/app${path}`, {
        method: 'POST',
        headers: {
          ...(origin !== '' && { origin }),
          ...(kept !== undefined && path.startsWith(cookiePath) && { cookie: kept }),
          ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      for (const line of response.headers.getSetCookie()) keep(line)
      const answer = (await response.json()) as ConstructorParameters<typeof ApiError>[2] & { readonly data: T }
      if (!response.ok) throw new ApiError(response.status, response.headers, answer)
      return answer.data
    },
    cookie: () => kept,
    lastSetCookie: () => last,
    otherTab: () => openPage(url, { origin: own, cookie: kept }),
  }
}
