// The file of --connect-ca is followed, and no unusable content replaces a usable one.

import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { followAuthorities } from '../../../src/addons/provision/provisioner.js'
import { eventually } from '../../../testing/eventually.js'
import { selfSigned } from '../../support/certificates.js'
import { temporaryFolder } from '../../support/program.js'

const [first, second] = [selfSigned('first').cert, selfSigned('second').cert]

async function follow() {
  const file = join(await temporaryFolder(), 'ca.crt')
  await writeFile(file, first)
  const warnings: string[] = []
  let changes = 0
  const followed = followAuthorities(file, {
    onChange: () => (changes += 1),
    onWarning: (message) => warnings.push(message),
    rereadMs: 5,
  })
  onTestFinished(() => followed.close())
  const replace = async (text: string): Promise<void> => {
    await writeFile(`${file}.next`, text)
    await rename(`${file}.next`, file)
  }
  return { file, followed, warnings, changes: () => changes, replace }
}

test('a new authority is noticed once', async () => {
  const { followed, changes, replace } = await follow()
  expect(followed.current()).toBe(first)
  await replace(`${first}${second}`)
  await eventually(() => expect(followed.current()).toBe(`${first}${second}`))
  expect(changes()).toBe(1)
})

test('what is no certificate is a warning that names the file, and the last authority stays', async () => {
  const { file, followed, warnings, changes, replace } = await follow()
  await replace('nonsense')
  await eventually(() => expect(warnings.join()).toContain(`--connect-ca ${file} is not a`))
  expect([followed.current(), changes()]).toEqual([first, 0])
  await replace(second)
  await eventually(() => expect(followed.current()).toBe(second))
})

test.each([
  ['cannot be parsed', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
  ['breaks off', second.slice(0, -40)],
])('a bundle whose second authority %s is a warning that says which', async (_, bad) => {
  const { followed, warnings, replace } = await follow()
  await replace(`${first}${bad}`)
  await eventually(() => expect(warnings.join()).toContain('certificate 2: '))
  expect(followed.current()).toBe(first)
})

test('a file that cannot be used at the start is an error', async () => {
  const deps = { onChange: () => undefined, onWarning: () => undefined }
  const file = join(await temporaryFolder(), 'ca.crt')
  expect(() => followAuthorities(file, deps)).toThrow(`--connect-ca ${file} is not a certificate`)
})
