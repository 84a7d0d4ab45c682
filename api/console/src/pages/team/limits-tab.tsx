import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { App } from 'matte-client/app'
import { useState } from 'react'
import { useApp } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Card, Facts, Row, Stack } from '../../ui/page.tsx'
import { ErrorNote, Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { showNote } from '../../ui/toasts.tsx'
import { useAction } from '../../ui/use-action.ts'
import { parseLimit } from './member-rules.ts'
import styles from './team.module.css'
import { teamText } from './team-text.ts'

type TeamProps = { readonly team: App.Team }

const keyOfCredits = (teamId: string) => ['team', teamId, 'credits']

/** Credits that each member has used this month, and the limits. */
export function LimitsTab({ team: { id: teamId } }: TeamProps) {
  const { limits: text } = useText(teamText)
  const app = useApp()
  const format = useFormat()
  const credits = useQuery({
    queryKey: keyOfCredits(teamId),
    // Others change it too.
    staleTime: 0,
    queryFn: ({ signal }) => app.request('GET', '/app/teams/{teamId}/credits', { path: { teamId }, signal }),
  })
  return (
    <Loaded query={credits} lines={8}>
      {(data) => (
        <Stack>
          <Card title={text.title}>
            <Facts
              facts={[
                { name: text.balance, value: format.number(data.available) },
                { name: text.held, value: format.number(data.held) },
                {
                  name: text.period,
                  value: `${format.day(data.period.start)} ${text.until(format.day(data.period.end))}`,
                },
              ]}
            />
          </Card>
          <LimitsForm teamId={teamId} members={data.members} />
        </Stack>
      )}
    </Loaded>
  )
}

type LimitsFormProps = { readonly teamId: string; readonly members: App.TeamCredits['members'] }

function LimitsForm({ teamId, members }: LimitsFormProps) {
  const { limits: text, members: names } = useText(teamText)
  const app = useApp()
  const queries = useQueryClient()
  const format = useFormat()
  /** As typed; members without an entry keep their limit. */
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  const shownOf = ({ userId, monthlyLimit }: LimitsFormProps['members'][number]): string =>
    typed[userId] ?? (monthlyLimit === null ? '' : String(monthlyLimit))
  const parsed = members.map((member) => ({ userId: member.userId, monthlyLimit: parseLimit(shownOf(member)) }))
  const save = useAction(async () => {
    const limits = parsed.flatMap(({ userId, monthlyLimit }) =>
      monthlyLimit === undefined ? [] : [{ userId, monthlyLimit }],
    )
    if (limits.length < parsed.length) return
    await app.request('PUT', '/app/teams/{teamId}/credits/limits', { path: { teamId }, body: { limits } })
    await queries.invalidateQueries({ queryKey: keyOfCredits(teamId) })
    setTyped({})
    showNote(text.saved)
  })
  return (
    <Card title={text.limit} isFlush>
      <Form onSubmit={save.run}>
        <Table
          label={text.limit}
          rows={members}
          keyOf={({ userId }) => userId}
          columns={[
            {
              name: names.person,
              cell: ({ name, email }) => (
                <span className={styles.person}>
                  {name ?? email}
                  {name !== null && <span className={styles.soft}>{email}</span>}
                </span>
              ),
            },
            { name: text.used, isNumber: true, cell: ({ used }) => format.number(used) },
            {
              name: text.limit,
              isNumber: true,
              cell: (member) => (
                <div className={styles.limit}>
                  <TextField
                    label={text.limitOf(member.name ?? member.email)}
                    isLabelHidden
                    inputMode="numeric"
                    placeholder={text.none}
                    value={shownOf(member)}
                    onChange={(value) => setTyped({ ...typed, [member.userId]: value })}
                    error={parseLimit(shownOf(member)) === undefined ? text.error : undefined}
                  />
                </div>
              ),
            },
          ]}
        />
        <div className={styles.inset}>
          <p className={styles.soft}>{text.hint}</p>
          {save.error !== undefined && <ErrorNote error={save.error} />}
          <Row>
            <Button type="submit" look="primary" isPending={save.isPending}>
              {text.save}
            </Button>
          </Row>
        </div>
      </Form>
    </Card>
  )
}
