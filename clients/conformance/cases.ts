// The cases that every client passes. A case says what the proxy breaks, the call, and what must come of it: at the
// caller, and in the service's own books. A case has no word about a language.

import type { Fault, Route } from './support/breaking-proxy.ts'
import type { Call, Options } from './support/driver.ts'
import type { InputName } from './support/inputs.ts'
import type { WorkspaceOptions } from './support/service.ts'
import type { Signing } from './support/signing.ts'

/** A client other than one with the workspace's key and the proxy's address. */
type ClientChanges = {
  readonly apiKey?: string
  /** `{origin}` is the proxy's. */
  readonly baseUrl?: string
  readonly timeoutMs?: number
  readonly retriesMax?: number
}

type CaseCall =
  | { readonly name: 'removeBackground'; readonly input: InputName; readonly options?: Options }
  | {
      readonly name: 'removeBackgrounds'
      readonly count: number
      readonly concurrency?: number
      readonly manifest?: true
      readonly options?: Options
    }
  | { readonly name: 'cutOut'; readonly input: InputName; readonly options?: Options }
  | { readonly name: 'erase'; readonly input: InputName }
  | Extract<Call, { readonly name: 'listTasks' }>
  | { readonly name: 'verify'; readonly signing: Signing }

export type Expected = {
  /** Content types of the results in their order; bytes always equal the stored result. */
  readonly results?: readonly string[] | { readonly count: number; readonly contentType: string }
  readonly count?: number
  readonly error?: {
    /** One of several where the interface leaves it open; all clients agree on one. */
    readonly code: string | readonly string[]
    readonly retryable: boolean
    readonly has?: readonly ('requestId' | 'taskId' | 'retryAfterMs')[]
    readonly message?: RegExp
  }
  /** Tasks in the database, and credits that are spent; no credit is held at the end. */
  readonly tasks: number
  readonly spent: number
  /** Requests that the proxy saw, by route. */
  readonly requests?: Partial<Readonly<Record<Route, number>>>
  /** Least time between the first two requests of the route. */
  readonly pauseMs?: { readonly route: Route; readonly atLeast: number }
}

export type Case = {
  readonly name: string
  /** After a crash another client continues: the Python ones after TypeScript, and TypeScript after them. */
  readonly changesLanguage?: true
  /** Part of `make test`. */
  readonly core?: true
  readonly workspace?: WorkspaceOptions
  readonly client?: ClientChanges
  readonly faults?: readonly Fault[]
  readonly call: CaseCall
  /** Aborts the call as soon as a task of the workspace has this status. */
  readonly abortWhen?: 'queued' | 'processing'
  readonly expected: Expected
}

const photo: CaseCall = { name: 'removeBackground', input: 'photo.png' }
const cutOut: Expected = { results: ['image/png'], tasks: 1, spent: 1 }
const nothing = { tasks: 0, spent: 0 }
const always = 1_000

const successes: readonly Case[] = [
  {
    name: 'a photo becomes its cut-out for one credit',
    core: true,
    call: photo,
    expected: { ...cutOut, requests: { presign: 1, upload: 1, create: 1, download: 1 } },
  },
  {
    name: 'a JPEG becomes a WebP on a white background',
    core: true,
    call: { name: 'removeBackground', input: 'photo.jpg', options: { format: 'webp', background: '#ffffff' } },
    expected: { ...cutOut, results: ['image/webp'] },
  },
  {
    name: 'a background of three digits is a colour',
    core: true,
    call: { name: 'removeBackground', input: 'photo.png', options: { format: 'jpeg', background: '#fff' } },
    expected: { ...cutOut, results: ['image/jpeg'] },
  },
  {
    name: 'a WebP becomes a PNG of at most 100 pixels',
    call: { name: 'removeBackground', input: 'photo.webp', options: { maxSide: 100 } },
    expected: cutOut,
  },
  {
    name: 'a task that takes longer than a client waits for one answer is polled until it ends',
    call: { ...photo, options: { model: 'slow' } },
    client: { timeoutMs: 2_000 },
    expected: cutOut,
  },
  {
    name: 'many photos become their cut-outs for one credit each',
    core: true,
    call: { name: 'removeBackgrounds', count: 6 },
    expected: { results: { count: 6, contentType: 'image/png' }, tasks: 6, spent: 6 },
  },
  {
    name: 'many photos adapt to a limit of two tasks at once',
    core: true,
    workspace: { plan: 'pro' },
    call: { name: 'removeBackgrounds', count: 12, concurrency: 8 },
    expected: { results: { count: 12, contentType: 'image/png' }, tasks: 12, spent: 12 },
  },
  {
    name: 'a photo becomes its cut-out by one request and a download',
    core: true,
    call: { name: 'cutOut', input: 'photo.jpg', options: { format: 'webp', maxSide: 100 } },
    expected: {
      ...cutOut,
      results: ['image/webp'],
      requests: { presign: 0, upload: 0, create: 0, 'cut-out': 1, download: 1 },
    },
  },
  {
    name: 'one request for upload and task whose answer is cut makes one task and costs one credit',
    core: true,
    faults: [{ on: 'cut-out', do: 'cut-answer' }],
    call: { name: 'cutOut', input: 'photo.png' },
    expected: { ...cutOut, requests: { 'cut-out': 2 } },
  },
  {
    name: 'an erased cut-out cannot be downloaded any more',
    core: true,
    call: { name: 'erase', input: 'photo.png' },
    expected: {
      tasks: 1,
      spent: 1,
      error: { code: 'CLIENT_INPUT', retryable: false, has: ['taskId'], message: /erased/ },
    },
  },
  {
    name: 'many photos survive a rate limit in the middle',
    faults: [
      {
        on: 'create',
        do: 'answer',
        status: 429,
        code: 'RATE_LIMIT_EXCEEDED',
        headers: { 'retry-after': '1' },
        skip: 2,
        times: 3,
      },
    ],
    call: { name: 'removeBackgrounds', count: 8 },
    expected: { results: { count: 8, contentType: 'image/png' }, tasks: 8, spent: 8 },
  },
  {
    // More tasks than page numbers reach.
    name: 'a list of 20,000 tasks is read to its end',
    faults: [{ on: 'list', do: 'pages', count: 200, tasksPerPage: 100, times: 200 }],
    call: { name: 'listTasks', status: 'failed' },
    expected: { ...nothing, count: 20_000, requests: { list: 200 } },
  },
  {
    name: 'a list of 10,000 pages is read to its end',
    faults: [{ on: 'list', do: 'pages', count: 10_000, tasksPerPage: 1, times: 10_000 }],
    call: { name: 'listTasks', status: 'failed' },
    expected: { ...nothing, count: 10_000, requests: { list: 10_000 } },
  },
  {
    name: 'a list of 50 pages is read to its end',
    core: true,
    faults: [{ on: 'list', do: 'pages', count: 50, tasksPerPage: 100, times: 50 }],
    call: { name: 'listTasks', status: 'failed' },
    expected: { ...nothing, count: 5_000, requests: { list: 50 } },
  },
]

const retried: readonly Case[] = [
  {
    name: 'a 429 with Retry-After is repeated after that time',
    core: true,
    faults: [
      { on: 'presign', do: 'answer', status: 429, code: 'RATE_LIMIT_EXCEEDED', headers: { 'retry-after': '1' } },
    ],
    call: photo,
    expected: { ...cutOut, requests: { presign: 2 }, pauseMs: { route: 'presign', atLeast: 1_000 } },
  },
  {
    name: 'a 429 without Retry-After is repeated',
    core: true,
    faults: [{ on: 'create', do: 'answer', status: 429, code: 'RATE_LIMIT_EXCEEDED' }],
    call: photo,
    expected: { ...cutOut, requests: { create: 2 } },
  },
  {
    name: 'a 503 is repeated',
    faults: [{ on: 'create', do: 'answer', status: 503, code: 'TASK_MAINTENANCE', headers: { 'retry-after': '1' } }],
    call: photo,
    expected: { ...cutOut, requests: { create: 2 } },
  },
  {
    name: 'a 500 of a creation is repeated and makes one task',
    core: true,
    faults: [{ on: 'create', do: 'answer', status: 500, code: 'SYSTEM_INTERNAL_ERROR' }],
    call: photo,
    expected: { ...cutOut, requests: { create: 2 } },
  },
  {
    name: 'a 502 with a page of HTML is repeated',
    faults: [{ on: 'presign', do: 'answer-html', status: 502 }],
    call: photo,
    expected: { ...cutOut, requests: { presign: 2 } },
  },
  {
    name: 'a 503 of the object store is repeated for an upload and for a download',
    faults: [
      { on: 'upload', do: 'answer-html', status: 503 },
      { on: 'download', do: 'answer-html', status: 503 },
    ],
    call: photo,
    expected: { ...cutOut, requests: { upload: 2, download: 2, create: 1 } },
  },
  {
    name: 'an upload whose connection is cut in the middle is sent again',
    core: true,
    faults: [{ on: 'upload', do: 'cut-request' }],
    call: photo,
    expected: { ...cutOut, requests: { upload: 2, create: 1 } },
  },
  {
    name: 'an upload without an answer is sent again',
    faults: [{ on: 'upload', do: 'cut-answer' }],
    call: photo,
    expected: { ...cutOut, requests: { upload: 2, create: 1 } },
  },
  {
    name: 'a creation whose answer is cut makes one task and costs one credit',
    core: true,
    faults: [{ on: 'create', do: 'cut-answer' }],
    call: photo,
    expected: { ...cutOut, requests: { create: 2 } },
  },
  {
    name: 'a creation whose answer is cut three times makes one task and costs one credit',
    faults: [
      { on: 'create', do: 'cut-answer', times: 2 },
      { on: 'create', do: 'cut-body' },
    ],
    call: photo,
    expected: { ...cutOut, requests: { create: 4 } },
  },
  {
    name: 'a creation that arrives twice makes one task, and its second answer is good',
    core: true,
    faults: [{ on: 'create', do: 'repeat' }],
    call: photo,
    expected: { ...cutOut, requests: { create: 1 } },
  },
  {
    name: 'a poll whose answer is cut is repeated',
    faults: [{ on: 'read', do: 'cut-answer' }],
    call: { ...photo, options: { model: 'slow' } },
    client: { timeoutMs: 2_000 },
    expected: cutOut,
  },
  {
    name: 'a download whose connection is cut in the middle is repeated',
    core: true,
    faults: [{ on: 'download', do: 'cut-body' }],
    call: photo,
    expected: { ...cutOut, requests: { create: 1, download: 2 } },
  },
  {
    name: 'a download that is shorter than its Content-Length is repeated',
    core: true,
    faults: [{ on: 'download', do: 'truncate' }],
    call: photo,
    expected: { ...cutOut, requests: { create: 1, download: 2 } },
  },
  {
    name: 'a download that trickles for longer than the timeout does not time out',
    faults: [{ on: 'download', do: 'trickle', pieces: 20, everyMs: 200 }],
    client: { timeoutMs: 2_500 },
    call: photo,
    expected: { ...cutOut, requests: { download: 1 } },
  },
  {
    name: 'a download that stalls is repeated after the timeout',
    faults: [{ on: 'download', do: 'stall' }],
    client: { timeoutMs: 1_500 },
    call: photo,
    expected: { ...cutOut, requests: { download: 2 } },
  },
]

const gaveUp: readonly Case[] = [
  {
    name: 'a rate limit that goes on is reported with its wait after the last retry',
    faults: [
      {
        on: 'presign',
        do: 'answer',
        status: 429,
        code: 'RATE_LIMIT_EXCEEDED',
        headers: { 'retry-after': '1' },
        times: always,
      },
    ],
    client: { retriesMax: 1 },
    call: photo,
    expected: {
      ...nothing,
      error: { code: 'RATE_LIMIT_EXCEEDED', retryable: true, has: ['requestId', 'retryAfterMs'] },
      requests: { presign: 2 },
    },
  },
  {
    name: 'a wait of an hour is reported at once and not waited for',
    faults: [
      {
        on: 'presign',
        do: 'answer',
        status: 503,
        code: 'TASK_MAINTENANCE',
        headers: { 'retry-after': '3600' },
        times: always,
      },
    ],
    call: photo,
    expected: {
      ...nothing,
      error: { code: 'TASK_MAINTENANCE', retryable: true, has: ['requestId', 'retryAfterMs'] },
      requests: { presign: 1 },
    },
  },
  {
    name: 'a 500 that goes on is reported after the last retry',
    faults: [{ on: 'presign', do: 'answer', status: 500, code: 'SYSTEM_INTERNAL_ERROR', times: always }],
    client: { retriesMax: 2 },
    call: photo,
    expected: {
      ...nothing,
      error: { code: 'SYSTEM_INTERNAL_ERROR', retryable: true, has: ['requestId'] },
      requests: { presign: 3 },
    },
  },
  {
    name: 'a gateway that only answers HTML is a connection error',
    faults: [{ on: 'presign', do: 'answer-html', status: 502, times: always }],
    client: { retriesMax: 1 },
    call: photo,
    expected: { ...nothing, error: { code: 'CLIENT_CONNECTION', retryable: true }, requests: { presign: 2 } },
  },
  {
    name: 'HTML instead of JSON with status 200 is a wrong base URL',
    core: true,
    faults: [{ on: 'presign', do: 'answer-html', status: 200, times: always }],
    call: photo,
    expected: {
      ...nothing,
      error: { code: 'CLIENT_CONFIG', retryable: false, message: /\/api\/v1/ },
      requests: { presign: 1 },
    },
  },
  {
    name: 'an upload that is always cut is a connection error and makes no task',
    faults: [{ on: 'upload', do: 'cut-request', times: always }],
    client: { retriesMax: 1 },
    call: photo,
    expected: { ...nothing, error: { code: 'CLIENT_CONNECTION', retryable: true }, requests: { upload: 2, create: 0 } },
  },
  {
    name: 'a creation that never gets an answer leaves one task and no second charge',
    faults: [{ on: 'create', do: 'cut-answer', times: always }],
    client: { retriesMax: 2 },
    call: photo,
    expected: {
      tasks: 1,
      spent: 1,
      error: { code: 'CLIENT_CONNECTION', retryable: true },
      requests: { create: 3 },
    },
  },
  {
    name: 'a download that is always too short is a connection error with the id of the task',
    faults: [{ on: 'download', do: 'truncate', times: always }],
    client: { retriesMax: 1 },
    call: photo,
    expected: {
      tasks: 1,
      spent: 1,
      error: { code: 'CLIENT_CONNECTION', retryable: true, has: ['taskId'] },
      requests: { download: 2 },
    },
  },
  {
    name: 'a download that always stalls is a timeout with the id of the task',
    faults: [{ on: 'download', do: 'stall', times: always }],
    client: { retriesMax: 1, timeoutMs: 1_000 },
    call: photo,
    expected: {
      tasks: 1,
      spent: 1,
      error: { code: 'CLIENT_TIMEOUT', retryable: true, has: ['taskId'] },
      requests: { download: 2 },
    },
  },
  ...([301, 302, 303, 307, 308] as const).map(
    (status): Case => ({
      name: `a redirect by ${status} to another host is refused, and the key stays here`,
      ...(status === 307 && { core: true }),
      faults: [{ on: 'presign', do: 'redirect', status, times: always }],
      call: photo,
      expected: { ...nothing, error: { code: 'CLIENT_CONFIG', retryable: false }, requests: { presign: 1 } },
    }),
  ),
]

const refused: readonly Case[] = [
  {
    name: 'an unknown key is refused without a retry',
    core: true,
    client: { apiKey: 'service_live_0000000000000000000000000000000000000' },
    call: photo,
    expected: {
      ...nothing,
      error: { code: 'API_KEY_INVALID', retryable: false, has: ['requestId'] },
      requests: { presign: 1 },
    },
  },
  {
    name: 'an unknown host is a connection error that names it',
    client: { baseUrl: 'http://matte.invalid/api/v1', retriesMax: 1 },
    call: photo,
    expected: { ...nothing, error: { code: 'CLIENT_CONNECTION', retryable: true, message: /matte\.invalid/ } },
  },
  {
    name: 'a base URL without its path is reported with a hint',
    core: true,
    client: { baseUrl: '{origin}' },
    call: photo,
    expected: {
      ...nothing,
      error: { code: ['NOT_FOUND', 'CLIENT_CONFIG'], retryable: false, message: /\/api\/v1/ },
    },
  },
  {
    name: 'a base URL without a scheme is refused before any request',
    client: { baseUrl: 'localhost:8080/api/v1' },
    call: photo,
    expected: { ...nothing, error: { code: 'CLIENT_CONFIG', retryable: false }, requests: { presign: 0 } },
  },
  {
    name: 'an empty key is refused before any request',
    client: { apiKey: '' },
    call: photo,
    expected: { ...nothing, error: { code: 'CLIENT_CONFIG', retryable: false }, requests: { presign: 0 } },
  },
  ...(['empty.png', 'text.png', 'missing.png'] as const).map(
    (input): Case => ({
      name: `an input that is no image is refused before any request: ${input}`,
      ...(input === 'text.png' && { core: true }),
      call: { name: 'removeBackground', input },
      expected: { ...nothing, error: { code: 'CLIENT_INPUT', retryable: false }, requests: { presign: 0, upload: 0 } },
    }),
  ),
  {
    name: 'a file of more than 20 MB is refused before its upload',
    call: { name: 'removeBackground', input: 'large.png' },
    expected: {
      ...nothing,
      error: { code: ['CLIENT_INPUT', 'TASK_FILE_SIZE_EXCEEDED'], retryable: false },
      requests: { upload: 0, create: 0 },
    },
  },
  {
    name: 'a damaged photo is a failed task with its id, and costs nothing',
    core: true,
    call: { name: 'removeBackground', input: 'damaged.png' },
    expected: {
      tasks: 1,
      spent: 0,
      error: { code: 'INPUT_UNREADABLE', retryable: false, has: ['taskId'] },
      requests: { create: 1, download: 0 },
    },
  },
  {
    name: 'a workspace without credits is refused without a retry',
    core: true,
    workspace: { credits: 0 },
    call: photo,
    expected: {
      ...nothing,
      error: { code: 'CREDITS_INSUFFICIENT', retryable: false, has: ['requestId'] },
      requests: { create: 1 },
    },
  },
  {
    name: 'a used-up quota is refused without a wait until the next month',
    workspace: { plan: 'pro', hasQuotaUsed: true },
    call: photo,
    expected: {
      ...nothing,
      error: { code: 'DEVELOPER_API_QUOTA_EXCEEDED', retryable: false, has: ['requestId'] },
      requests: { create: 1 },
    },
  },
  {
    name: 'an unknown model is refused without a retry',
    call: { ...photo, options: { model: 'no-such-model' } },
    expected: {
      ...nothing,
      error: { code: 'INVALID_PARAMS', retryable: false, has: ['requestId'] },
      requests: { create: 1 },
    },
  },
]

const canceled: readonly Case[] = [
  {
    name: 'an abort while the task is queued cancels it and releases the credit',
    core: true,
    call: { ...photo, options: { model: 'absent' } },
    abortWhen: 'queued',
    expected: { tasks: 1, spent: 0, error: { code: 'CLIENT_ABORTED', retryable: false, has: ['taskId'] } },
  },
  {
    name: 'an abort while the task is processed leaves it to end, charges it and names it',
    call: { ...photo, options: { model: 'slow' } },
    abortWhen: 'processing',
    expected: { tasks: 1, spent: 1, error: { code: 'CLIENT_ABORTED', retryable: false, has: ['taskId'] } },
  },
]

const crashes = [
  ['before an upload', 'upload', 'before'],
  ['after a creation whose answer it has not seen', 'create', 'after'],
  ['during a download', 'download', 'before'],
] as const

const killed: readonly Case[] = crashes.flatMap(([when, on, moment]) => [
  buildKilled(`after a crash ${when}`, on, moment),
  { ...buildKilled(`by a client of another language after a crash ${when}`, on, moment), changesLanguage: true },
])

function buildKilled(how: string, on: Route, moment: 'before' | 'after'): Case {
  return {
    name: `many photos are resumed from a manifest ${how}, and no credit is spent twice`,
    faults: [{ on, do: 'stop', when: moment, skip: 2 }],
    call: { name: 'removeBackgrounds', count: 8, concurrency: 3, manifest: true },
    expected: { results: { count: 8, contentType: 'image/png' }, tasks: 8, spent: 8 },
  }
}

const signatures: readonly Case[] = (
  [
    ['by the present clock is accepted', {}, true],
    ['by Standard Webhooks alone is accepted', { headers: 'standard' }, true],
    ['by X-Service-Signature alone is accepted', { headers: 'service' }, true],
    ['four minutes old is accepted', { skewSeconds: -240 }, true],
    ['four minutes ahead is accepted', { skewSeconds: 240 }, true],
    ['six minutes old is refused', { skewSeconds: -360 }, false],
    ['six minutes ahead is refused', { skewSeconds: 360 }, false],
    ['six minutes old by Standard Webhooks is refused', { skewSeconds: -360, headers: 'standard' }, false],
    ['six minutes old is accepted under a tolerance of ten', { skewSeconds: -360, toleranceSeconds: 600 }, true],
    ['a minute old is refused under a tolerance of ten seconds', { skewSeconds: -60, toleranceSeconds: 10 }, false],
    ['by another secret is refused', { secrets: ['other'] }, false],
    ['by one of two secrets is accepted', { secrets: ['other', 'present'] }, true],
    ['during a rotation is accepted by the old secret', { rotation: true, secrets: ['previous'] }, true],
    ['during a rotation is accepted by the new secret', { rotation: true, secrets: ['present'] }, true],
    ['during a rotation is accepted by both secrets', { rotation: true, secrets: ['present', 'previous'] }, true],
    ['of another body is refused', { tampered: true }, false],
    ['of another body is refused by Standard Webhooks', { tampered: true, headers: 'standard' }, false],
    ['that is missing is refused', { headers: 'none' }, false],
    ['that is malformed is refused', { headers: 'malformed' }, false],
    ['with capital letters in its hex is refused', { headers: 'upper-case' }, false],
    ['under header names in capitals is accepted', { headers: 'shouted' }, true],
    ['of a body with emoji and line ends is accepted byte for byte', { body: '{"event":"é😀",\r\n "n":1.0}' }, true],
  ] as const satisfies readonly (readonly [string, Signing, boolean])[]
).map(([what, signing, isAccepted]) => ({
  name: `a webhook signature ${what}`,
  core: true,
  call: { name: 'verify', signing },
  expected: isAccepted ? nothing : { ...nothing, error: { code: 'CLIENT_SIGNATURE', retryable: false } },
}))

export const cases: readonly Case[] = [
  ...successes,
  ...retried,
  ...gaveUp,
  ...refused,
  ...canceled,
  ...killed,
  ...signatures,
]
