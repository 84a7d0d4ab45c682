import { status } from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import { errorOfMessage, errorOfStatus } from './inference-error.ts'

describe('errorOfStatus', () => {
  it.each([
    [status.UNAVAILABLE, 'no connection', 'unavailable'],
    [status.CANCELLED, 'cancelled', 'unavailable'],
    [status.NOT_FOUND, 'no such model', 'unavailable'],
    [status.DEADLINE_EXCEEDED, 'too late', 'timeout'],
    [status.INVALID_ARGUMENT, 'wrong shape', 'failed'],
    [status.INTERNAL, 'onnx runtime error', 'failed'],
    [status.INTERNAL, 'Received RST_STREAM with code 2', 'unavailable'],
    [status.RESOURCE_EXHAUSTED, 'out of memory', 'failed'],
    [status.RESOURCE_EXHAUSTED, 'Bandwidth exhausted or memory limit exceeded', 'unavailable'],
  ])('%i, %s: %s', (code, details, kind) => {
    expect(errorOfStatus({ code, details })).toMatchObject({ kind, message: details })
  })
})

describe('errorOfMessage', () => {
  it.each([
    ["Request for unknown model: 'u2netp' is not found", 'unavailable'],
    ['Model u2netp is not ready', 'unavailable'],
    ['Server is shutting down', 'unavailable'],
    ['onnx runtime error: no', 'failed'],
  ])('%s: %s', (message, kind) => {
    expect(errorOfMessage(message)).toMatchObject({ kind, message })
  })
})
