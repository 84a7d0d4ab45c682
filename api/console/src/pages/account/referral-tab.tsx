import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { App } from 'matte-client/app'
import { useState } from 'react'
import { useApp } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Secret } from '../../ui/copy.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Card, Facts, Row, Stack } from '../../ui/page.tsx'
import { Paged } from '../../ui/paged.tsx'
import { Empty, ErrorNote, Loaded } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { showNote } from '../../ui/toasts.tsx'
import { useAction } from '../../ui/use-action.ts'
import { useRequestKey } from '../../ui/use-request-key.ts'
import styles from './account.module.css'
import { accountText } from './account-text.ts'

export function ReferralTab() {
  const { referral: text } = useText(accountText)
  const app = useApp()
  const format = useFormat()
  const referral = useQuery({
    queryKey: ['referral'],
    queryFn: ({ signal }) => app.request('GET', '/app/referral', { signal }),
  })
  return (
    <Stack>
      <Card title={text.title}>
        <Loaded query={referral} lines={8}>
          {(data) => (
            <Stack>
              <p>{data.rewardCredits > 0 ? text.lede(format.number(data.rewardCredits)) : text.noReward}</p>
              <Facts
                facts={[
                  { name: text.invited, value: format.number(data.invited) },
                  { name: text.joined, value: format.number(data.joined) },
                  { name: text.rewarded, value: format.number(data.rewarded) },
                  { name: text.earned, value: format.number(data.creditsEarned) },
                ]}
              />
              <Secret label={text.link} value={data.url} />
              <InviteForm />
            </Stack>
          )}
        </Loaded>
      </Card>
      <InvitationsCard />
    </Stack>
  )
}

function InviteForm() {
  const { referral: text } = useText(accountText)
  const app = useApp()
  const queries = useQueryClient()
  const [email, setEmail] = useState('')
  const keys = useRequestKey()
  const invite = useAction(async () => {
    const body = { email: email.trim() }
    await app.request('POST', '/app/referral/invitations', { body, idempotencyKey: keys.keyFor(body) })
    keys.forget()
    setEmail('')
    void queries.invalidateQueries({ queryKey: ['referral'] })
    showNote(text.sent)
  }, ['email'])
  return (
    <div className={styles.form}>
      <Form onSubmit={invite.run}>
        <TextField
          label={text.email}
          type="email"
          name="email"
          autoComplete="off"
          value={email}
          onChange={setEmail}
          error={invite.fieldError('email') && text.emailError}
          isRequired
        />
        {invite.error !== undefined && <ErrorNote error={invite.error} />}
        <Row>
          <Button type="submit" isPending={invite.isPending}>
            {text.send}
          </Button>
        </Row>
      </Form>
    </div>
  )
}

const tones = { invited: 'neutral', joined: 'active', review: 'warn', rewarded: 'good', refused: 'bad' } as const

function InvitationsCard() {
  const { referral: text } = useText(accountText)
  const app = useApp()
  const format = useFormat()
  const personOf = ({ email, invitedAt }: App.ReferralInvitation): string =>
    email ?? (invitedAt === null ? text.byLink : text.gone)
  return (
    <Card title={text.list} isFlush>
      <Paged
        queryKey={['referral', 'invitations']}
        read={(cursor) =>
          app.request('GET', '/app/referral/invitations', { query: { ...(cursor !== undefined && { cursor }) } })
        }
        empty={<Empty title={text.none} />}
      >
        {(items) => (
          <Table
            label={text.list}
            rows={items}
            keyOf={({ id }) => id}
            columns={[
              { name: text.person, cell: personOf },
              {
                name: text.status,
                cell: ({ status }) => <Badge tone={tones[status]}>{text.states[status]}</Badge>,
              },
              {
                name: text.reward,
                isNumber: true,
                cell: ({ rewardCredits }) => (rewardCredits === null ? '–' : format.number(rewardCredits)),
              },
              { name: text.date, cell: ({ createdAt }) => format.date(createdAt) },
            ]}
          />
        )}
      </Paged>
    </Card>
  )
}
