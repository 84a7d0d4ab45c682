import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { App } from 'matte-client/app'
import { useState } from 'react'
import { useApp } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Card, Row } from '../../ui/page.tsx'
import { ErrorNote, Loaded } from '../../ui/states.tsx'
import { showNote } from '../../ui/toasts.tsx'
import { useAction } from '../../ui/use-action.ts'
import styles from './team.module.css'
import { teamText } from './team-text.ts'

const key = ['retention'] as const

/** How long the workspace of the session keeps finished tasks. */
export function RetentionCard() {
  const { settings: text } = useText(teamText)
  const app = useApp()
  const query = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => app.request('GET', '/app/tasks/retention', { signal }),
  })
  return (
    <Card title={text.retention}>
      <Loaded query={query}>{(retention) => <RetentionForm retention={retention} />}</Loaded>
    </Card>
  )
}

const offeredSeconds = [600, 3_600, 21_600, 86_400, 604_800, 1_209_600]

/** A choice by the API may be any other number of seconds. */
function choicesOf({ retention, max }: App.Retention): number[] {
  const all = [...offeredSeconds, max, ...(retention === null ? [] : [retention])]
  return [...new Set(all.filter((seconds) => seconds <= max || seconds === retention))].sort((a, b) => a - b)
}

function RetentionForm({ retention }: { readonly retention: App.Retention }) {
  const { settings: text } = useText(teamText)
  const app = useApp()
  const queries = useQueryClient()
  const format = useFormat()
  const [chosen, setChosen] = useState(String(retention.retention ?? 'default'))
  const save = useAction(async () => {
    const body = { retention: chosen === 'default' ? null : Number(chosen) }
    queries.setQueryData(key, await app.request('PUT', '/app/tasks/retention', { body }))
    showNote(text.saved)
  })
  const choices = choicesOf(retention).map((seconds) => ({
    value: String(seconds),
    label: format.period(seconds),
  }))
  return (
    <div className={styles.form}>
      <Form onSubmit={save.run}>
        <SelectField
          label={text.retentionLabel}
          hint={text.retentionHint(format.period(retention.effective))}
          value={chosen}
          onChange={setChosen}
          choices={[{ value: 'default', label: text.retentionDefault }, ...choices]}
        />
        {save.error !== undefined && <ErrorNote error={save.error} />}
        <Row>
          <Button type="submit" look="primary" isPending={save.isPending}>
            {text.saveRetention}
          </Button>
        </Row>
      </Form>
    </div>
  )
}
