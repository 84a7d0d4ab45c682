// Pages of a list that is longer than any database of a test, by page number or by cursor.
import type { IncomingHttpHeaders } from 'node:http'

export type Pages = { readonly count: number; readonly tasksPerPage: number }

export function answerPage(path: string, { count, tasksPerPage }: Pages) {
  const { searchParams } = new URL(path, 'http://proxy')
  const page = Number(searchParams.get('cursor') ?? searchParams.get('page') ?? '1')
  const data = {
    items: Array.from({ length: tasksPerPage }, (_none, index) => buildTask((page - 1) * tasksPerPage + index)),
    page,
    pageSize: tasksPerPage,
    total: Math.min(count * tasksPerPage, 10_000),
    ...(count * tasksPerPage > 10_000 && { totalIsMinimum: true }),
    totalPages: count,
    nextCursor: page < count ? String(page + 1) : null,
  }
  const headers: IncomingHttpHeaders = { 'content-type': 'application/json', 'x-request-id': 'page' }
  return { status: 200, headers, body: Buffer.from(JSON.stringify({ request_id: 'page', data })) }
}

const buildTask = (index: number) => ({
  id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  status: 'failed',
  modelVersion: 'service-v2',
  sourceUrl: 'private-uploads/2026/01/photo.png',
  resultUrl: null,
  createdAt: '2026-01-01T00:00:00.000Z',
  completedAt: '2026-01-01T00:00:01.000Z',
  callbackUrl: null,
  batchId: null,
  failure: { reason: 'INPUT_UNREADABLE', message: 'The image could not be decoded.', retryable: false },
  width: null,
  height: null,
  resultFormat: null,
  retryCount: 0,
  foreground: null,
})
