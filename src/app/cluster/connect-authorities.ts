// Follows the file of --connect-ca: the authorities by which created Envoys check Gatehouse's certificate.

import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { errorText } from '../../errors.js'
import { certificatesIn } from '../../pem.js'

/** The authorities as last read. */
export interface ConnectAuthorities {
  /** PEM. */
  current(): string
  close(): void
}

/** What following the file needs. */
export interface FollowAuthoritiesDeps {
  readonly onChange: () => void
  readonly onWarning: (message: string) => void
  /** How often the file is read again, in milliseconds; default 10,000. */
  readonly rereadMs?: number
}

const REREAD_MS = 10_000

/**
 * Reads the file now and at intervals. While it is unusable, the last good authorities stay in use and a warning says so.
 * @throws {Error} for a person when the file cannot be used at the start.
 */
export function followAuthorities(
  file: string,
  { onChange, onWarning, rereadMs = REREAD_MS }: FollowAuthoritiesDeps,
): ConnectAuthorities {
  let current = usable(file, () => readFileSync(file, 'utf8'))
  const reread = async (): Promise<void> => {
    try {
      const text = await readFile(file, 'utf8')
      const next = usable(file, () => text)
      if (next === current) return
      current = next
      onChange()
    } catch (error) {
      onWarning(`${errorText(error)}; the previous authorities stay in use`)
    }
  }
  let reading: Promise<void> | undefined
  const timer = setInterval(() => {
    reading ??= reread().finally(() => (reading = undefined))
  }, rereadMs)
  timer.unref()
  return { current: () => current, close: () => clearInterval(timer) }
}

function usable(file: string, read: () => string): string {
  try {
    const text = read()
    certificatesIn(text)
    return text
  } catch (error) {
    throw new Error(`--connect-ca ${file} is not a certificate in PEM: ${errorText(error)}`, {
      cause: error,
    })
  }
}
