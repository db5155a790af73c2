declare module 'virtual:stored-answers' {
  const texts: Record<string, string>; // by command line, without --format json
  export default texts;
}
