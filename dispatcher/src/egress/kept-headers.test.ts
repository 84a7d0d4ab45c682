import { expect, it } from 'vitest'
import { keepHeaders } from './kept-headers.ts'

it('keeps names and values, and joins repeated headers', () => {
  expect(keepHeaders({ 'content-type': 'text/plain', via: ['a', 'b'] })).toEqual({
    ...{ 'content-type': 'text/plain', via: 'a, b' },
  })
})

it('masks the values of cookies and keeps their attributes', () => {
  const cookies = ['sid=secret; Path=/; HttpOnly', 'theme=dark', 'secret', 'a; b=c']
  expect(keepHeaders({ 'set-cookie': cookies })).toEqual({
    'set-cookie': 'sid=••••; Path=/; HttpOnly, theme=••••, ••••, a=••••; b=c',
  })
})

it('keeps at most 32 headers', () => {
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`x-${index}`, 'a']))
  expect(Object.keys(keepHeaders(many))).toEqual(Object.keys(many).slice(0, 32))
})

it('keeps at most 4 KiB, and leaves out a header that is too large', () => {
  const headers = { 'x-a': 'a'.repeat(3_000), 'x-b': 'b'.repeat(3_000), 'x-c': 'é'.repeat(400), 'x-d': 'd'.repeat(400) }
  expect(Object.keys(keepHeaders(headers))).toEqual(['x-a', 'x-c'])
})

it('replaces NUL', () => {
  expect(keepHeaders({ 'x-a': 'a\0b' })).toEqual({ 'x-a': 'a\uFFFDb' })
})
