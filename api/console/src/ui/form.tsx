import type { FormEvent, ReactNode } from 'react'
import { Stack } from './page.tsx'

type FormProps = { readonly onSubmit: () => Promise<unknown>; readonly children: ReactNode }

/** Fields below each other. Enter submits. */
export function Form({ onSubmit, children }: FormProps) {
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    void onSubmit()
  }
  return (
    <form onSubmit={submit} noValidate>
      <Stack>{children}</Stack>
    </form>
  )
}
