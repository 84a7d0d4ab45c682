import { useState } from 'react'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { SelectField, SwitchField, TextField } from '../../ui/field.tsx'
import { Stack } from '../../ui/page.tsx'
import { shadowKinds } from './draw-shadow.ts'
import { type Effects, formats, noEffects } from './effects.ts'
import styles from './options-panel.module.css'
import { playgroundText } from './playground-text.ts'

const sides = [512, 1_024, 2_048] as const
const named = { transparent: 'transparent', white: '#ffffff', black: '#000000' } as const
const ownDefault = '#3fa7d6'

type OptionsProps = { readonly effects: Effects; readonly onChange: (effects: Effects) => void }

/** Format, background, crop and size of the result. */
export function OptionsPanel({ effects, onChange }: OptionsProps) {
  const text = useText(playgroundText)
  const format = useFormat()
  const [margin, setMargin] = useState(String(effects.cropMargin))
  const set = (change: Partial<Effects>): void => onChange({ ...effects, ...change })
  const [name = 'own'] = Object.entries(named).find(([, value]) => value === effects.background) ?? []
  const takeMargin = (value: string): void => {
    setMargin(value)
    const percent = Number(value)
    if (value.trim() !== '' && percent >= 0 && percent <= 50) set({ cropMargin: percent })
  }
  return (
    <Stack>
      <SelectField
        label={text.format}
        value={effects.format}
        onChange={(next) => set({ format: next })}
        choices={formats.map((value) => ({ value, label: value.toUpperCase() }))}
      />
      <SelectField
        label={text.background}
        value={name}
        onChange={(next) => set({ background: next in named ? named[next as keyof typeof named] : ownDefault })}
        choices={[
          { value: 'transparent', label: text.transparent },
          { value: 'white', label: text.white },
          { value: 'black', label: text.black },
          { value: 'own', label: text.ownColour },
        ]}
      />
      {name === 'own' && (
        <label className={styles.colour}>
          <span>{text.ownColour}</span>
          <input
            type="color"
            value={effects.background}
            onChange={(event) => set({ background: event.target.value })}
          />
        </label>
      )}
      <SelectField
        label={text.shadow}
        value={effects.shadow ?? ''}
        onChange={(kind) => set({ shadow: shadowKinds.find((known) => known === kind) })}
        choices={[
          { value: '', label: text.noShadow },
          ...shadowKinds.map((kind) => ({ value: kind, label: text.shadows[kind] })),
        ]}
      />
      <SelectField
        label={text.size}
        value={String(effects.maxSide ?? '')}
        onChange={(side) => set({ maxSide: side === '' ? noEffects.maxSide : Number(side) })}
        choices={[
          { value: '', label: text.original },
          ...sides.map((side) => ({ value: String(side), label: text.pixelsOf(format.number(side)) })),
        ]}
      />
      <SwitchField isSelected={effects.crop} onChange={(crop) => set({ crop })}>
        {text.crop}
      </SwitchField>
      {effects.crop && <TextField label={text.cropMargin} inputMode="numeric" value={margin} onChange={takeMargin} />}
    </Stack>
  )
}
