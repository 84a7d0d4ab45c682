// One task with its history and webhooks.
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Task, WebhookDelivery } from 'matte-client'
import { useMemo } from 'react'
import { useTaskChanges } from '../../session/task-changes.ts'
import { type Service, useApp, useService, useSession } from '../../session/use-session.ts'
import { eventsKey, findTask, taskKey } from './task-cache.ts'
import { eventsOfTask } from './time-line.ts'
import { isOpen } from './use-tasks.ts'

const pollMs = 2_000
/** The stream reports changes at once; polling covers its gaps. */
const pollBesideStreamMs = 20_000

export function useTask(id: string) {
  const service = useService()
  const queries = useQueryClient()
  const { kind } = useSession()
  const everyMs = kind === 'member' ? pollBesideStreamMs : pollMs
  useTaskChanges(({ taskId }) => {
    if (taskId !== id) return
    void queries.invalidateQueries({ queryKey: taskKey(id) })
    void queries.invalidateQueries({ queryKey: eventsKey(id) })
  })
  return useQuery({
    queryKey: taskKey(id),
    queryFn: ({ signal }) => service.tasks.get(id, { signal }),
    placeholderData: () => findTask(queries, id),
    refetchInterval: ({ state: { data } }) => (data !== undefined && isOpen(data) ? everyMs : false),
  })
}

/** Events of all runs for members; for keys, the events that the task itself implies. */
export function useTaskEvents(task: Task) {
  const app = useApp()
  const { kind } = useSession()
  const isMember = kind === 'member'
  const query = useQuery({
    // Every change of the status has an event.
    queryKey: [...eventsKey(task.id), task.status, task.retryCount],
    queryFn: ({ signal }) =>
      app.request('GET', '/app/tasks/images/{taskId}/events', {
        path: { taskId: task.id },
        query: { runs: 'all' },
        signal,
      }),
    enabled: isMember,
    placeholderData: keepPreviousData,
  })
  const implied = useMemo(() => eventsOfTask(task), [task])
  return isMember ? query : { data: implied, error: null, refetch: () => undefined }
}

/** Owners, admins and keys may read deliveries. */
export function useMayReadWebhooks(): boolean {
  const session = useSession()
  return session.kind === 'key' || (session.kind === 'member' && ['owner', 'admin'].includes(session.role))
}

export const deliveriesKey = (id: string) => ['tasks', 'deliveries', id] as const

export function useTaskDeliveries(task: Task) {
  const service = useService()
  const mayRead = useMayReadWebhooks()
  return useQuery({
    queryKey: [...deliveriesKey(task.id), task.completedAt],
    queryFn: ({ signal }) => findDeliveries(service, task, signal),
    enabled: mayRead && task.completedAt !== null,
    refetchInterval: ({ state: { data } }) => (data?.some(({ status }) => status === 'pending') ? pollMs : false),
  })
}

/** The list cannot be filtered by task, but deliveries begin when the task ends. */
const endsWithinMs = 60_000
const endpointsMax = 20
/** Deliveries that are searched per endpoint. */
const searchedMax = 300

async function findDeliveries(service: Service, task: Task, signal: AbortSignal): Promise<WebhookDelivery[]> {
  const { id, completedAt, createdAt, retryCount } = task
  const endMs = Date.parse(completedAt ?? createdAt)
  const query = {
    pageSize: 100,
    // Earlier runs had deliveries as well.
    startDate: retryCount > 0 ? createdAt : new Date(endMs - 1_000).toISOString(),
    endDate: new Date(endMs + endsWithinMs).toISOString(),
  }
  const { webhooks } = service
  const endpoints = (await webhooks.list({ signal }).all()).slice(0, endpointsMax)
  const lists = [
    webhooks.callbackDeliveries(query, { signal }),
    ...endpoints.map((endpoint) => webhooks.deliveries(endpoint.id, query, { signal })),
  ]
  const found = await Promise.all(
    lists.map(async (list) => {
      const ofTask: WebhookDelivery[] = []
      let searched = 0
      for await (const delivery of list) {
        if (delivery.taskId === id && !delivery.sample) ofTask.push(delivery)
        if (++searched >= searchedMax) break
      }
      return ofTask
    }),
  )
  return found.flat().sort((a, b) => a.createdAt.localeCompare(b.createdAt))
}
