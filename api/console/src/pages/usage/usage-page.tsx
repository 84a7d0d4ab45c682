import { useQuery } from '@tanstack/react-query'
import type { Usage } from 'matte-client'
import type { App } from 'matte-client/app'
import type { Member } from '../../session/session.ts'
import { baseUrl, useApp, useSession, useSessionStore } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Chart } from '../../ui/chart.tsx'
import { Card, Facts, Grid, Page } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { ShareChart, ShareTable } from './shares.tsx'
import { usageText } from './usage-text.ts'

/** Usage by day, model and member. */
export function UsagePage() {
  const text = useText(usageText)
  const usage = useUsage()
  return (
    <Page title={text.title} lede={text.lede}>
      <Loaded query={usage} lines={8}>
        {(data) => (
          <>
            <Totals usage={data} />
            <Days usage={data} />
            <Details usage={data} />
          </>
        )}
      </Loaded>
      <Members />
    </Page>
  )
}

function useUsage() {
  const app = useApp()
  const store = useSessionStore()
  const session = useSession()
  return useQuery({
    queryKey: ['usage'],
    queryFn: async (): Promise<Usage> => {
      const apiKey = store.apiKey()
      if (session.kind !== 'key' || apiKey === undefined) return app.request('GET', '/app/developer/usage')
      const { Matte } = await import('matte-client')
      return new Matte({ apiKey, baseUrl: baseUrl() }).usage.get()
    },
  })
}

function Totals({ usage }: { readonly usage: Usage }) {
  const text = useText(usageText)
  const format = useFormat()
  const { monthlyQuota: quota } = usage
  const facts = [
    { name: text.period, value: `${format.day(usage.period.start)} – ${format.day(usage.period.end)}` },
    { name: text.tasks, value: format.number(usage.totalTasks) },
    { name: text.succeeded, value: format.number(usage.succeededTasks) },
    { name: text.failed, value: `${format.number(usage.failedTasks)} (${format.percent(usage.errorRate)})` },
    { name: text.credits, value: format.number(usage.creditsConsumed) },
    { name: text.requests, value: format.number(usage.apiRequests) },
    { name: text.latency, value: format.duration(usage.averageLatencyMs) },
    {
      name: text.quota,
      value: quota.limit === null ? text.noQuota : text.quotaOf(format.number(quota.used), format.number(quota.limit)),
    },
  ]
  return (
    <Card title={text.month}>
      <Facts facts={facts} />
    </Card>
  )
}

function Days({ usage: { daily } }: { readonly usage: Usage }) {
  const text = useText(usageText)
  const format = useFormat()
  const labels = daily.map(({ date }) => format.day(date))
  const of = (name: keyof Omit<Usage['daily'][number], 'date'>) => daily.map((day) => day[name])
  return (
    <Grid>
      <Card>
        <Chart
          title={text.tasksByDay}
          labels={labels}
          format={format.number}
          series={[
            { name: text.succeeded, values: of('succeededTasks'), tone: 'accent' },
            { name: text.failed, values: of('failedTasks'), tone: 'bad' },
          ]}
        />
      </Card>
      <Card>
        <Chart
          title={text.creditsByDay}
          labels={labels}
          format={format.number}
          series={[{ name: text.credits, values: of('creditsConsumed') }]}
        />
      </Card>
      <Card>
        <Chart
          title={text.requestsByDay}
          labels={labels}
          format={format.number}
          series={[{ name: text.requests, values: of('apiRequests') }]}
        />
      </Card>
      <Card>
        <Chart
          title={text.latencyByDay}
          labels={labels}
          format={format.duration}
          kind="lines"
          series={[{ name: text.latency, values: of('averageLatencyMs').map((ms) => ms || null) }]}
        />
      </Card>
    </Grid>
  )
}

const managers = ['owner', 'admin']

/** Keys have no members, and models without days. */
function Details({ usage }: { readonly usage: Usage }) {
  const session = useSession()
  if (session.kind === 'member' && managers.includes(session.role)) return <MemberDetails usage={usage} />
  return <ModelTable models={usage.models} usage={usage} />
}

const nameModel = <M extends Usage['models'][number]>(model: M) => ({
  ...model,
  key: model.modelVersion,
  name: model.modelVersion,
})

function ModelTable({ models, usage }: { readonly models: Usage['models']; readonly usage: Usage }) {
  const text = useText(usageText)
  return (
    <ShareTable
      title={text.tasksByModel}
      noun={text.model}
      shares={models.map(nameModel)}
      totalTasks={usage.totalTasks}
    />
  )
}

function MemberDetails({ usage }: { readonly usage: Usage }) {
  const app = useApp()
  const text = useText(usageText)
  const detail = useQuery({
    queryKey: ['usage', 'detail'],
    queryFn: () => app.request('GET', '/app/developer/usage/detail'),
  })
  const days = usage.daily.map(({ date }) => date)
  const nameMember = ({ userId, name, email, ...member }: App.UsageDetail['members'][number]) => ({
    ...member,
    key: userId ?? '',
    name: userId === null ? text.noPerson : (name ?? email ?? text.erased),
  })
  return (
    <Loaded query={detail} lines={8}>
      {({ models, members }) => (
        <>
          <Grid>
            <ShareChart title={text.tasksByModel} shares={models.map(nameModel)} days={days} />
            <ShareChart title={text.tasksByMember} shares={members.map(nameMember)} days={days} />
          </Grid>
          <ModelTable models={models} usage={usage} />
          <ShareTable
            title={text.tasksByMember}
            noun={text.member}
            shares={members.map(nameMember)}
            totalTasks={usage.totalTasks}
          />
        </>
      )}
    </Loaded>
  )
}

const viewers = ['owner', 'admin', 'billing']

function Members() {
  const session = useSession()
  return session.kind === 'member' && viewers.includes(session.role) ? <TeamMembers session={session} /> : null
}

/** Limits exist in teams only. */
function TeamMembers({ session: { workspaceId } }: { readonly session: Member }) {
  const app = useApp()
  const workspaces = useQuery({
    queryKey: ['workspaces'],
    queryFn: () => app.list('/app/users/workspaces').all(),
  })
  const isTeam = workspaces.data?.some(({ id, kind }) => id === workspaceId && kind === 'team')
  return isTeam ? <MemberTable workspaceId={workspaceId} /> : null
}

function MemberTable({ workspaceId }: { readonly workspaceId: string }) {
  const app = useApp()
  const text = useText(usageText)
  const format = useFormat()
  const credits = useQuery({
    queryKey: ['team', workspaceId, 'credits'],
    queryFn: () => app.request('GET', '/app/teams/{teamId}/credits', { path: { teamId: workspaceId } }),
  })
  return (
    <Card title={text.byMember} isFlush>
      <Loaded query={credits}>
        {({ members }) => (
          <Table
            label={text.byMember}
            rows={members}
            keyOf={({ userId }) => userId}
            columns={[
              { name: text.member, cell: ({ name, email }) => name ?? email },
              { name: text.used, isNumber: true, cell: ({ used }) => format.number(used) },
              {
                name: text.limit,
                isNumber: true,
                cell: ({ monthlyLimit }) => (monthlyLimit === null ? text.noQuota : format.number(monthlyLimit)),
              },
            ]}
          />
        )}
      </Loaded>
    </Card>
  )
}
