// Vite's plugin that makes the engine's glue smaller: Emscripten leaves its names long.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { transformWithEsbuild, type Plugin } from 'vite';

export function smallGlue(): Plugin {
  let engine: URL;
  return {
    name: 'small-glue',
    apply: 'build',
    configResolved: ({ root, build }) => void (engine = new URL(`file://${root}/${build.outDir}/engine/`)),
    async closeBundle() {
      if (!existsSync(engine)) return;
      for (const name of readdirSync(engine).filter((file) => file.endsWith('.js'))) {
        const file = new URL(name, engine);
        const { code } = await transformWithEsbuild(readFileSync(file, 'utf8'), name, { minify: true, sourcemap: false });
        writeFileSync(file, code);
      }
    },
  };
}
