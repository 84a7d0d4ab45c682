import { useQuery } from '@tanstack/react-query'
import { baseUrl } from '../../session/use-session.ts'
import { settingsQuery } from '../../settings.ts'
import { useText } from '../../text/text.ts'
import { CodeBlock } from '../../ui/copy.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import type { Effects } from './effects.ts'
import { playgroundText } from './playground-text.ts'
import { languages, writeCode } from './request-code.ts'
import type { Run } from './use-cut-out.ts'

/** The request as a program, by language. */
export function RequestTabs({ run, effects }: { readonly run: Run; readonly effects: Effects }) {
  const text = useText(playgroundText)
  const { data: settings } = useQuery(settingsQuery)
  const photo = run.state === 'idle' ? undefined : run.photo
  const request = {
    baseUrl: settings === undefined ? baseUrl() : `${settings.publicUrl}/api/v1`,
    fileName: photo?.name || 'photo.jpg',
    contentType: photo?.blob?.type ?? 'image/jpeg',
    effects,
  }
  const tabs = languages.map((language) => ({
    id: language,
    title: text.languages[language],
    content: <CodeBlock code={writeCode(language, request)} label={text.languages[language]} />,
  }))
  return <Tabs label={text.code} tabs={tabs} />
}
