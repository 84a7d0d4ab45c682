import type { ReactNode } from 'react'
import { useText } from '../../text/text.ts'
import { NarrowPage } from '../../ui/narrow-page.tsx'
import { signUpText } from './sign-up-text.ts'

/** Shown after a reload, or to a visitor without the link of a mail. */
export function NoLinkPage({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  const { noLink } = useText(signUpText)
  return (
    <NarrowPage title={title} lede={noLink.title}>
      <p>{noLink.lede}</p>
      {children}
    </NarrowPage>
  )
}
