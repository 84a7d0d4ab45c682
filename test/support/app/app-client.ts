// Client of the App API, with or without an access token.
import { type Answer, ApiError, type CallOptions } from '../client.ts'

export type AppClient = {
  /** Sends any request below `/api/v1/app`. @throws ApiError */
  call<T = unknown>(method: string, path: string, options?: CallOptions): Promise<Answer<T>>
}

export function createAppClient(origin: string, accessToken?: string): AppClient {
  return {
    call: async <T>(method: string, path: string, { body, headers = {} }: CallOptions = {}): Promise<Answer<T>> => {
      const response = await fetch(`${origin}/api/v1/app${path}`, {
        method,
        headers: {
          ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const answer = (await response.json()) as Parameters<typeof toAnswer<T>>[1]
      return toAnswer<T>(response, answer)
    },
  }
}

function toAnswer<T>(
  { ok, status, headers }: Response,
  body: { request_id: string; data: T; error: { code: string; message: string; details: Record<string, unknown> } },
): Answer<T> {
  if (!ok) throw new ApiError(status, headers, body)
  return { status, headers, requestId: body.request_id, data: body.data }
}
