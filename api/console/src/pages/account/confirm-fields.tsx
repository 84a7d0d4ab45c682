import { useState } from 'react'
import { useText } from '../../text/text.ts'
import { confirmText } from '../../ui/confirm-text.ts'
import { TextField } from '../../ui/field.tsx'
import { PasswordField } from '../../ui/password-field.tsx'

/** Password, and a code if the account has a second factor: asked again before a change that matters. */
export type Confirmation = { readonly password: string; readonly code: string }

export function useConfirmation() {
  const [value, setValue] = useState<Confirmation>({ password: '', code: '' })
  const code = value.code.trim()
  /** Fields of the body. */
  const body = { password: value.password, ...(code !== '' && { code }) }
  return { value, setValue, body }
}

type ConfirmFieldsProps = {
  readonly value: Confirmation
  readonly onChange: (value: Confirmation) => void
  readonly fieldError: (name: string) => string | undefined
  readonly needsCode: boolean
}

export function ConfirmFields({ value, onChange, fieldError, needsCode }: ConfirmFieldsProps) {
  const text = useText(confirmText)
  return (
    <>
      <PasswordField
        label={text.password}
        value={value.password}
        onChange={(password) => onChange({ ...value, password })}
        error={fieldError('password') && text.passwordError}
      />
      {needsCode && (
        <TextField
          label={text.code}
          hint={text.codeHint}
          name="code"
          autoComplete="one-time-code"
          value={value.code}
          onChange={(code) => onChange({ ...value, code })}
          error={fieldError('code') && text.codeError}
          isRequired
        />
      )}
    </>
  )
}
