import { expect, it } from 'vitest'
import { KubeError, localError } from './http/kube-error.ts'
import { endingOf } from './reflector-state.ts'

const cases: [error: unknown, reason: string, relist: boolean][] = [
  [new KubeError(410, 'Expired', ''), 'gone', true],
  [new KubeError(429, 'TooManyRequests', ''), 'refused', false],
  [new KubeError(500, 'InternalError', ''), 'refused', false],
  [new KubeError(503, 'Http503', ''), 'refused', false],
  [new KubeError(401, 'Unauthorized', ''), 'refused', false],
  [new KubeError(504, 'Timeout', ''), 'refused', true],
  [new KubeError(400, 'BadRequest', ''), 'refused', true],
  [localError('Unreachable', ''), 'cut', false],
  [localError('Timeout', ''), 'cut', false],
  [localError('TooLarge', ''), 'unreadable', true],
  [localError('BadAnswer', ''), 'unreadable', true],
  [new TypeError('an error of ours'), 'unreadable', true],
]

it.each(cases)('%s ends a watch as %s, with a new list: %s', (error, reason, relist) => {
  expect(endingOf(error)).toEqual({ reason, relist, error })
})
