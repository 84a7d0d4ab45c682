import { useText } from '../text/text.ts'
import { LinkButton } from '../ui/button.tsx'
import { Page } from '../ui/page.tsx'
import { shellText } from './shell-text.ts'

export function NotFoundPage() {
  const { notFound } = useText(shellText)
  return (
    <Page title={notFound.title} lede={notFound.lede}>
      <div>
        <LinkButton to="/">{notFound.home}</LinkButton>
      </div>
    </Page>
  )
}
